<?php

declare(strict_types=1);

namespace Popup\Tests;

use PHPUnit\Framework\TestCase;
use Popup\Rules\Rules;
use Popup\State\Bucket;
use Popup\State\FileStates;

/** Users' states in files: every process reads what one has written, and only one of two changes wins. */
final class FileStatesTest extends TestCase
{
    private string $directory;

    protected function setUp(): void
    {
        $this->directory = sys_get_temp_dir() . '/popup-states-' . bin2hex(random_bytes(6));
        mkdir($this->directory);
    }

    protected function tearDown(): void
    {
        array_map(unlink(...), glob("{$this->directory}/*") ?: []);
        rmdir($this->directory);
    }

    public function testAChangeIsSeenByOthersAndOnlyOneOfTwoWins(): void
    {
        $one = new FileStates($this->directory);
        $other = new FileStates($this->directory);
        self::assertSame([], $other->seen('ada'));
        self::assertTrue($one->change('ada', 7, null, 1_000));
        self::assertFalse($other->change('ada', 7, null, 1_001), 'it has changed since');
        self::assertSame([7 => 1_000], $other->seen('ada'));
        self::assertTrue($other->change('ada', 7, 1_000, 2_000));
        self::assertTrue($one->change('ada', 8, null, 2_001));
        self::assertSame([7 => 2_000, 8 => 2_001], $one->seen('ada'));
        self::assertTrue($one->change('ada', 7, 2_000, null));
        self::assertSame([8 => 2_001], $other->seen('ada'));
    }

    public function testMergingKeepsTheLater(): void
    {
        $states = new FileStates($this->directory);
        $states->merge('ada', [1 => 500, 2 => Rules::CLICKED]);
        $states->merge('ada', [1 => 400, 2 => 600, 3 => 1]);
        self::assertSame([1 => 500, 2 => Rules::CLICKED, 3 => 1], $states->seen('ada'));
    }

    public function testThousandsOfUsersKeepTheirOwn(): void
    {
        $states = new FileStates($this->directory, 20_000);
        for ($i = 1; $i <= 10_000; $i++) {
            $states->merge("user-$i", [1 => $i]);
        }
        $wrong = array_filter(range(1, 10_000), static fn (int $i): bool => $states->seen("user-$i") !== [1 => $i]);
        self::assertSame([], $wrong);
    }

    public function testMoreUsersThanThereIsRoomForMakeItIncomplete(): void
    {
        $states = new FileStates($this->directory, 1);
        $states->complete(static fn () => null);
        self::assertTrue($states->isComplete());
        for ($i = 1; $i <= 5_000; $i++) {
            $states->merge("user-$i", [1 => $i]);
        }
        self::assertFalse((new FileStates($this->directory, 1))->isComplete(), 'the database has to be asked from now on');
        self::assertSame([1 => 5_000], $states->seen('user-5000'));
    }

    public function testLoadingIsDoneOnce(): void
    {
        $loads = 0;
        for ($i = 0; $i < 2; $i++) {
            (new FileStates($this->directory))->complete(static function () use (&$loads): void {
                $loads++;
            });
        }
        self::assertSame(1, $loads);
    }

    public function testAfterAnotherStartOfTheMachineTheFilesAreMadeAnew(): void
    {
        $states = new FileStates($this->directory);
        $states->merge('ada', [1 => 2]);
        $states->complete(static fn () => null);
        file_put_contents("{$this->directory}/life", 'another one');
        $later = new FileStates($this->directory);
        self::assertFalse($later->isComplete());
        self::assertSame([], $later->seen('ada'));
    }

    public function testAFullSlotKeepsTheLatest(): void
    {
        $seen = array_combine(range(1, 40), range(1, 40));
        $slot = Bucket::slot(str_repeat('k', 16), $seen, 1);
        self::assertSame(Bucket::SLOT_BYTES, strlen($slot));
        $kept = array_keys(Bucket::entries($slot, 0));
        sort($kept);
        self::assertSame(range(40 - Bucket::ENTRIES_MAX + 1, 40), $kept);
    }

    public function testAKeyIsFoundAtItsPlaceOnly(): void
    {
        $key = random_bytes(16);
        $page = str_repeat("\0", 100) . $key . str_repeat("\0", Bucket::BYTES - 116);
        self::assertNull(Bucket::find($page, $key));
        self::assertSame(512, Bucket::find(substr_replace($page, $key, 512, 16), $key));
    }
}

<?php

declare(strict_types=1);

namespace Popup\Tests;

use PHPUnit\Framework\TestCase;
use Popup\Operation;
use Popup\Rules\Rules;
use Popup\Settings;
use Popup\Storage\Database;
use Popup\Storage\Migrations;
use Popup\Storage\Operations;

/** Batches that are repeated, overlap, or come in another order. */
final class OperationsTest extends TestCase
{
    private const AT = 1_800_000_000;

    private string $directory;

    private Operations $operations;

    protected function setUp(): void
    {
        $this->directory = sys_get_temp_dir() . '/popup-' . bin2hex(random_bytes(6));
        mkdir($this->directory);
        $database = new Database(Settings::from(['POPUP_DATA' => $this->directory]));
        Migrations::run($database);
        $this->operations = new Operations($database);
    }

    protected function tearDown(): void
    {
        array_map(unlink(...), glob("{$this->directory}/*") ?: []);
        rmdir($this->directory);
    }

    public function testABatchIsCountedByConfigurationAndKind(): void
    {
        $this->operations->write([
            Operation::Returned->record('a', 'ada', 1, self::AT),
            Operation::Returned->record('b', 'bob', 1, self::AT),
            Operation::Shown->record('a', 'ada', 1, self::AT),
            Operation::Returned->record('c', 'ada', 2, self::AT),
        ]);
        self::assertEquals([1 => [1 => 2, 2 => 1], 2 => [1 => 1]], $this->operations->counts());
    }

    public function testARepeatedRecordIsCountedOnce(): void
    {
        $first = [Operation::Returned->record('a', 'ada', 1, self::AT), Operation::Shown->record('a', 'ada', 1, self::AT)];
        $this->operations->write([...$first, ...$first]);
        $this->operations->write($first);
        $this->operations->write([$first[1], Operation::Closed->record('a', 'ada', 1, self::AT), $first[0]]);
        self::assertEquals([1 => [1 => 1, 2 => 1, 4 => 1]], $this->operations->counts());
    }

    public function testOfTwoTimesTheLaterOneStays(): void
    {
        $this->operations->write([Operation::Returned->record('b', 'ada', 1, self::AT + 5)]);
        $this->operations->write([Operation::Returned->record('a', 'ada', 1, self::AT)]);
        self::assertSame([1 => self::AT + 5], $this->operations->seenBy('ada'));
        $this->operations->write([
            Operation::Clicked->record('a', 'ada', 1, self::AT),
            Operation::Returned->record('c', 'ada', 1, self::AT + 9),
        ]);
        self::assertSame([1 => Rules::CLICKED], $this->operations->seenBy('ada'));
        self::assertSame(['ada' => [1 => Rules::CLICKED]], iterator_to_array($this->operations->seenByAll()));
    }
}

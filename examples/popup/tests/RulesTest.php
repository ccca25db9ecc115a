<?php

declare(strict_types=1);

namespace Popup\Tests;

use PHPUnit\Framework\TestCase;
use Popup\Clock;
use Popup\Rules\Audience;
use Popup\Rules\Choice;
use Popup\Rules\Configuration;
use Popup\Rules\Rules;
use Popup\Rules\Visitor;

/** Which pop-up a user sees, over days that pass at once. */
final class RulesTest extends TestCase
{
    private const HOUR_S = 3_600;

    private Clock $clock;

    /** @var array<int, int> what the user has seen, kept as the service keeps it */
    private array $seen = [];

    protected function setUp(): void
    {
        $this->clock = Clock::at(1_800_000_000);
    }

    public function testWithoutConfigurationsThereIsNothing(): void
    {
        $choice = $this->ask([]);
        self::assertNull($choice->configuration);
        self::assertNull($choice->askAgainAt);
    }

    public function testAnUnclickedOneComesBackAfter24Hours(): void
    {
        $all = [self::make(1)];
        self::assertSame(1, $this->ask($all)->configuration?->id);
        $choice = $this->ask($all);
        self::assertNull($choice->configuration);
        self::assertSame($this->clock->now() + (24 * self::HOUR_S), $choice->askAgainAt);
        $this->clock->pass((24 * self::HOUR_S) - 1);
        self::assertNull($this->ask($all)->configuration);
        $this->clock->pass(1);
        self::assertSame(1, $this->ask($all)->configuration?->id);
        $this->clock->pass(self::HOUR_S);
        self::assertNull($this->ask($all)->configuration, 'the interval runs from the last time');
    }

    public function testAClickMovesOnToTheNextAndThenToNone(): void
    {
        $all = [self::make(1), self::make(2)];
        self::assertSame(1, $this->ask($all)->configuration?->id);
        $this->click(1);
        self::assertSame(2, $this->ask($all)->configuration?->id);
        $this->click(2);
        $choice = $this->ask($all);
        self::assertNull($choice->configuration);
        self::assertNull($choice->askAgainAt);
        $this->clock->pass(1_000 * 24 * self::HOUR_S);
        self::assertNull($this->ask($all)->configuration, 'a clicked one never comes back');
    }

    public function testWhileOneWaitsNothingBehindItIsShown(): void
    {
        $all = [self::make(1), self::make(2)];
        $this->ask($all);
        $this->clock->pass(23 * self::HOUR_S);
        self::assertNull($this->ask($all)->configuration);
    }

    public function testTheIntervalIsTheConfigurations(): void
    {
        $all = [self::make(1, interval_s: 60)];
        $this->ask($all);
        $this->clock->pass(59);
        self::assertNull($this->ask($all)->configuration);
        $this->clock->pass(1);
        self::assertSame(1, $this->ask($all)->configuration?->id);
        // It is the one that is set now, not the one that was set when it was shown.
        $this->clock->pass(30);
        self::assertSame(1, $this->ask([self::make(1, interval_s: 30)])->configuration?->id);
    }

    public function testTheHighestPriorityGoesFirstThenTheOldest(): void
    {
        $all = Rules::ordered([self::make(3), self::make(2, priority: 5), self::make(1), self::make(4, priority: -1)]);
        self::assertSame([2, 1, 3, 4], array_column($all, 'id'));
    }

    public function testANewOneOfHigherPriorityIsShownAtOnce(): void
    {
        self::assertSame(1, $this->ask([self::make(1)])->configuration?->id);
        $all = Rules::ordered([self::make(1), self::make(2, priority: 1)]);
        self::assertSame(2, $this->ask($all)->configuration?->id);
        $this->click(2);
        self::assertNull($this->ask($all)->configuration, 'the first one still waits');
        $this->clock->pass(24 * self::HOUR_S);
        self::assertSame(1, $this->ask($all)->configuration?->id);
    }

    public function testAPausedOneIsPassedOver(): void
    {
        $all = [self::make(1, paused: true), self::make(2)];
        self::assertSame(2, $this->ask($all)->configuration?->id);
    }

    public function testItIsActiveFromItsFirstSecondUntilBeforeItsLast(): void
    {
        $now = $this->clock->now();
        $all = [self::make(1, from: $now + 10, until: $now + 20, interval_s: 1)];
        $shown = [];
        for ($second = 0; $second < 30; $second++) {
            $shown[] = $this->ask($all)->configuration !== null ? $second : null;
            $this->clock->pass(1);
        }
        self::assertSame(range(10, 19), array_values(array_filter($shown, static fn ($s) => $s !== null)));
    }

    public function testNobodyAsksWhatWasSeenWhenNothingSuits(): void
    {
        $none = [self::make(1, paused: true)];
        $choice = Rules::choose($none, new Visitor('ada'), static fn () => self::fail('not needed'), $this->clock->now());
        self::assertNull($choice->configuration);
    }

    public function testPlatformsUsersAndVersions(): void
    {
        $in = static fn (Audience $audience, Visitor $visitor): bool => $audience->includes($visitor, 7);
        self::assertTrue($in(new Audience(platforms: ['ios', 'web']), new Visitor('a', 'web')));
        self::assertFalse($in(new Audience(platforms: ['ios']), new Visitor('a', 'android')));
        self::assertFalse($in(new Audience(platforms: ['ios']), new Visitor('a')), 'it did not say');
        self::assertTrue($in(new Audience(users: ['ada', '42']), new Visitor('42')));
        self::assertFalse($in(new Audience(users: ['ada', '42']), new Visitor('Ada')));
        self::assertSame(['ada', '42'], (new Audience(users: ['ada', '42']))->users());
    }

    public function testVersionsAreComparedAsNumbers(): void
    {
        $audience = new Audience(versionMin: '5.2', versionMax: '5.10.3');
        $includes = static fn (?string $version): bool => $audience->includes(new Visitor('a', null, $version), 1);
        foreach (['5.2', '5.9', '5.10.3'] as $version) {
            self::assertTrue($includes($version), $version);
        }
        foreach (['5.1.9', '5.10.4', '6', null] as $version) {
            self::assertFalse($includes($version), $version ?? 'it did not say');
        }
    }

    public function testAPercentageIsStableAndGrows(): void
    {
        $count = 20_000;
        $members = static function (float $percentage, int $configuration) use ($count): array {
            $audience = new Audience($percentage);

            return array_filter(range(1, $count), static fn (int $i) => $audience->includes(new Visitor("user-$i"), $configuration));
        };
        $ten = $members(10.0, 1);
        self::assertSame($ten, $members(10.0, 1), 'the same users each time');
        self::assertSame([], array_diff($ten, $members(25.0, 1)), 'more includes those who were in');
        self::assertEqualsWithDelta(0.10, count($ten) / $count, 0.01);
        $both = array_intersect($ten, $members(10.0, 2));
        self::assertEqualsWithDelta(0.01, count($both) / $count, 0.004, 'each configuration draws its own lots');
        self::assertSame([], $members(0.0, 1));
        self::assertCount($count, $members(100.0, 1));
    }

    private static function make(
        int $id,
        int $priority = 0,
        bool $paused = false,
        ?int $from = null,
        ?int $until = null,
        int $interval_s = Configuration::INTERVAL_S,
    ): Configuration {
        return new Configuration($id, "title $id", '', '/', $priority, $paused, $from, $until, $interval_s);
    }

    /** @param list<Configuration> $configurations */
    private function ask(array $configurations): Choice
    {
        $choice = Rules::choose($configurations, new Visitor('ada'), fn (): array => $this->seen, $this->clock->now());
        if ($choice->configuration !== null) {
            $this->seen[$choice->configuration->id] = $this->clock->now();
        }

        return $choice;
    }

    private function click(int $configuration): void
    {
        $this->seen[$configuration] = Rules::CLICKED;
    }
}

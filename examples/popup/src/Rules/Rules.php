<?php

declare(strict_types=1);

namespace Popup\Rules;

/**
 * Which pop-up a user sees. Pure: the same arguments give the same choice; it knows neither storage nor HTTP nor the clock.
 *
 * A user goes through the suitable configurations in order. The one that was shown and not clicked is the user's current
 * one: it comes back after its interval, and nothing behind it is shown before. A click moves on to the next.
 */
final class Rules
{
    /** In place of the time of showing: the user has clicked, and does not see it again. It is later than any time. */
    public const CLICKED = 0xFFFF_FFFF;

    /**
     * @param list<Configuration> $configurations in the order of ordered()
     * @param \Closure(): array<int, int> $seen tells what the user has seen: configuration to the second it was last shown
     *     in, or CLICKED. Asked once, and only if there is anything suitable
     */
    public static function choose(array $configurations, Visitor $visitor, \Closure $seen, int $now): Choice
    {
        $known = null;
        foreach ($configurations as $configuration) {
            if (!$configuration->isActive($now) || !$configuration->audience->includes($visitor, $configuration->id)) {
                continue;
            }
            $known ??= $seen();
            $shown = $known[$configuration->id] ?? null;
            if ($shown === self::CLICKED) {
                continue;
            }
            $again = $shown === null ? $now : $shown + $configuration->interval_s;

            return $again <= $now ? Choice::show($configuration, $shown) : Choice::wait($again);
        }

        return Choice::nothing();
    }

    /**
     * The order in which configurations are offered.
     *
     * @param list<Configuration> $configurations
     * @return list<Configuration>
     */
    public static function ordered(array $configurations): array
    {
        usort($configurations, static fn (Configuration $a, Configuration $b): int => [$b->priority, $a->id] <=> [$a->priority, $b->id]);

        return $configurations;
    }
}

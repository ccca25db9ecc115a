<?php

declare(strict_types=1);

namespace Popup\Rules;

/** A pop-up as the admin page describes it. Immutable; what the client gets of it is encoded once. */
final class Configuration
{
    /** A day: the interval unless the admin says otherwise. */
    public const INTERVAL_S = 86_400;

    /** The client's part as JSON without its closing brace: the hot path only appends to it. */
    public readonly string $encoded;

    /**
     * @param int $id positive; 0 for one that is not stored yet
     * @param int $priority the highest goes first; among equals the oldest
     * @param int|null $from first second in which it is shown; null is since ever
     * @param int|null $until first second in which it is not shown any more; null is never
     * @param int $interval_s how long a user who did not click is left in peace, at least 1
     */
    public function __construct(
        public readonly int $id,
        public readonly string $title,
        public readonly string $body,
        public readonly string $url,
        public readonly int $priority = 0,
        public readonly bool $paused = false,
        public readonly ?int $from = null,
        public readonly ?int $until = null,
        public readonly int $interval_s = self::INTERVAL_S,
        public readonly Audience $audience = new Audience(),
    ) {
        $json = json_encode(
            ['configuration' => $id, 'title' => $title, 'body' => $body, 'url' => $url],
            JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE,
        );
        $this->encoded = substr($json, 0, -1);
    }

    /** Whether it is to be shown at all at this time. */
    public function isActive(int $now): bool
    {
        return !$this->paused && ($this->from === null || $this->from <= $now) && ($this->until === null || $now < $this->until);
    }
}

<?php

declare(strict_types=1);

namespace Popup\State;

/**
 * One page of FileStates: 16 slots of 256 bytes, each a user. Pure: bytes in, bytes out.
 *
 * A slot is the user's key (16 bytes), the second of its last change, the number of entries, then the entries:
 * configuration and time of showing. All numbers are 32-bit little-endian.
 */
final class Bucket
{
    public const BYTES = 4_096;

    public const SLOT_BYTES = 256;

    /** Configurations in one slot. */
    public const ENTRIES_MAX = 29;

    private const KEY_BYTES = 16;

    private const HEAD_BYTES = 24;

    /** Where the user's slot begins in the page; null if it is not there. */
    public static function find(string $page, string $key): ?int
    {
        for ($at = -1; ($at = strpos($page, $key, $at + 1)) !== false;) {
            if ($at % self::SLOT_BYTES === 0) {
                return $at;
            }
        }

        return null;
    }

    /** @return array<int, int> configuration to time of showing */
    public static function entries(string $page, int $at): array
    {
        $count = ord($page[$at + 20]);
        $seen = [];
        if ($count > 0) {
            /** @var array<int, int> $words */
            $words = unpack('V' . (2 * $count), $page, $at + self::HEAD_BYTES);
            for ($i = 1; $i < 2 * $count; $i += 2) {
                $seen[$words[$i]] = $words[$i + 1];
            }
        }

        return $seen;
    }

    /**
     * A place for a new user.
     *
     * @return array{0: int, 1: bool} where it begins, and whether it was another user's, the one unchanged for longest
     */
    public static function place(string $page): array
    {
        $oldest = 0;
        $changed = PHP_INT_MAX;
        for ($at = 0; $at < self::BYTES; $at += self::SLOT_BYTES) {
            $then = unpack('V', $page, $at + self::KEY_BYTES)[1];
            if ($then === 0) {
                return [$at, false];
            }
            if ($then < $changed) {
                [$oldest, $changed] = [$at, $then];
            }
        }

        return [$oldest, true];
    }

    /**
     * A slot's bytes.
     *
     * @param array<int, int> $seen at most ENTRIES_MAX; those shown longest ago are left out beyond that
     */
    public static function slot(string $key, array $seen, int $now): string
    {
        if (count($seen) > self::ENTRIES_MAX) {
            arsort($seen);
            $seen = array_slice($seen, 0, self::ENTRIES_MAX, true);
        }
        $bytes = $key . pack('VV', max(1, $now), count($seen));
        foreach ($seen as $configuration => $shown) {
            $bytes .= pack('VV', $configuration, $shown);
        }

        return str_pad($bytes, self::SLOT_BYTES, "\0");
    }
}

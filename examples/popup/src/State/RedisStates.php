<?php

declare(strict_types=1);

namespace Popup\State;

use Weft\Queue\GroupCommit;

/**
 * Users' states in Redis, a hash for each user, shared by all hosts.
 *
 * Requests that are in flight together share a pipeline, so that a busy worker makes few round trips. Invariant: an entry
 * is changed by a script, which Redis runs alone.
 */
final class RedisStates implements States
{
    private const PREFIX = 'popup:user:';

    private const COMPLETE = 'popup:users:complete';

    private const COMPLETE_CHECK_S = 0.5;

    private const LOADING_S_MAX = 600;

    /** KEYS: the user. ARGV: configuration, expected or "", new or "". */
    private const CHANGE = <<<'LUA'
        if (redis.call('HGET', KEYS[1], ARGV[1]) or '') ~= ARGV[2] then return 0 end
        if ARGV[3] == '' then redis.call('HDEL', KEYS[1], ARGV[1]) else redis.call('HSET', KEYS[1], ARGV[1], ARGV[3]) end
        return 1
        LUA;

    /** KEYS: the user. ARGV: configuration, time, configuration, time… */
    private const MERGE = <<<'LUA'
        for i = 1, #ARGV, 2 do
            if tonumber(redis.call('HGET', KEYS[1], ARGV[i]) or '0') < tonumber(ARGV[i + 1]) then
                redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
            end
        end
        return 1
        LUA;

    private readonly GroupCommit $group;

    private ?\Redis $redis = null;

    private bool $complete = false;

    private float $checked_at = 0.0;

    /** @param \Closure(): \Redis $connect */
    public function __construct(private readonly \Closure $connect)
    {
        $this->group = new GroupCommit($this->send(...));
    }

    public function seen(string $user): array
    {
        return array_map(intval(...), $this->group->commit(['hGetAll', self::PREFIX . $user]));
    }

    public function change(string $user, int $configuration, ?int $expected, ?int $new): bool
    {
        $arguments = [self::PREFIX . $user, (string) $configuration, (string) $expected, (string) $new];

        return $this->group->commit(['eval', self::CHANGE, $arguments, 1]) === 1;
    }

    public function merge(string $user, array $seen): void
    {
        $arguments = [self::PREFIX . $user];
        foreach ($seen as $configuration => $shown) {
            array_push($arguments, (string) $configuration, (string) $shown);
        }
        $this->group->commit(['eval', self::MERGE, $arguments, 1]);
    }

    public function isComplete(): bool
    {
        $now = microtime(true);
        if ($now - $this->checked_at > self::COMPLETE_CHECK_S) {
            $this->checked_at = $now;
            $this->complete = (int) $this->group->commit(['exists', self::COMPLETE]) === 1;
        }

        return $this->complete;
    }

    public function complete(\Closure $load): void
    {
        if ($this->isComplete() || !$this->group->commit(['set', self::COMPLETE . ':lock', '1', ['nx', 'ex' => self::LOADING_S_MAX]])) {
            return;
        }
        $load();
        $this->group->commit(['set', self::COMPLETE, '1']);
        $this->group->commit(['del', self::COMPLETE . ':lock']);
        $this->complete = true;
    }

    /**
     * @param list<array{0: string}> $calls a method of \Redis and its arguments each
     * @return list<mixed>
     */
    private function send(array $calls): array
    {
        try {
            $redis = $this->redis ??= ($this->connect)();
            $redis->multi(\Redis::PIPELINE);
            foreach ($calls as $call) {
                $method = array_shift($call);
                // @mago-expect analysis:string-member-selector -- the callers are above, in this class
                $redis->$method(...$call);
            }
            $results = $redis->exec();
        } catch (\RedisException $error) {
            $this->redis = null;
            throw new StatesException("Redis does not answer: {$error->getMessage()}", 0, $error);
        }
        $refusal = $redis->getLastError();
        if (!is_array($results) || count($results) !== count($calls) || $refusal !== null) {
            $this->redis = null;
            throw new StatesException('Redis does not answer as it should: ' . ($refusal ?? 'the connection was lost'));
        }

        return array_values($results);
    }
}

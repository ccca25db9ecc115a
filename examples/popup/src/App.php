<?php

declare(strict_types=1);

namespace Popup;

use Popup\Cache\Bus;
use Popup\Cache\ConfigurationCache;
use Popup\Cache\SharedFile;
use Popup\State\DatabaseStates;
use Popup\State\FileStates;
use Popup\State\RedisStates;
use Popup\State\States;
use Popup\Storage\Configurations;
use Popup\Storage\Database;
use Popup\Storage\Operations;
use Popup\Web\Admin;
use Popup\Web\Api;
use Popup\Web\Router;
use Popup\Web\Session;
use Weft\Queue\FileQueue;
use Weft\Queue\Queue;
use Weft\Queue\RedisQueue;
use Weft\WriteBehind;

/**
 * Makes the parts of the service and joins them, once in each worker.
 *
 * Invariant: the constructor waits for nothing. A database or a Redis that is away delays what start() does, not the start.
 */
final class App
{
    private readonly Clock $clock;

    private readonly Database $database;

    private readonly Configurations $configurations;

    private readonly ConfigurationCache $cache;

    private readonly Service $service;

    private readonly ?WriteBehind $writeBehind;

    private readonly Health $health;

    private readonly ?Bus $bus;

    public function __construct(private readonly Settings $settings)
    {
        $this->clock = new Clock($settings->clock);
        $this->database = new Database($settings);
        $this->configurations = new Configurations($this->database);
        $operations = new Operations($this->database);
        // Another database's configurations are others.
        $file = new SharedFile($settings->directory() . '/configurations-' . hash('crc32b', $settings->database) . '.json');
        $this->cache = new ConfigurationCache($this->configurations, $file, $this->clock, $settings->hasCache());
        $this->writeBehind = $settings->hasQueue()
            ? new WriteBehind($this->queue(), fn (array $records) => $this->service->write($records))
            : null;
        $record = $this->writeBehind === null
            ? static fn (string $record) => $operations->write([$record])
            : $this->writeBehind->append(...);
        $this->service = new Service(
            $this->cache,
            $this->states($operations),
            $operations,
            $this->clock,
            $record,
            $settings->secret('displays'),
        );
        $this->health = new Health($settings->directory('workers'), $this->database, $this->cache, $this->writeBehind);
        $this->bus = $settings->redis === null ? null : new Bus($this->redis(...), $this->cache);
    }

    /** Starts the coroutines that work beside the requests; they begin when the worker serves. */
    public function start(): void
    {
        $this->database->migrate(); // first: what is started below waits for it when it uses the database
        if ($this->settings->hasCache()) {
            $this->cache->start();
            $this->bus?->start();
        }
        $this->writeBehind?->start();
        $this->health->start();
        \Weft\go(function (): void {
            Background::untilItWorks('making the tables', function (): void {
                $this->database->migrate();
                $this->database->waitForTables();
            });
            if ($this->settings->hasDemo) {
                Background::untilItWorks('storing the demonstration', fn () => Demo::fill($this->configurations));
            }
            Background::untilItWorks('loading what users have seen', $this->service->completeStates(...));
        });
    }

    public function router(): Router
    {
        $session = new Session($this->settings->adminToken(), $this->settings->secret('sessions'));
        $admin = new Admin(
            $this->configurations,
            new Operations($this->database),
            $session,
            $this->health,
            $this->clock,
            $this->changed(...),
        );

        return new Router(new Api($this->service, $this->cache), $admin, $this->health, $this->settings->hasKeepAlive());
    }

    /** Configurations have changed: this worker sees it now, the others within a second. */
    private function changed(): void
    {
        $version = $this->configurations->version();
        $this->cache->invalidate($version);
        $this->bus?->publish($version);
    }

    private function queue(): Queue
    {
        return (
            $this->settings->queuesInFiles
                ? new FileQueue($this->settings->directory('queue'))
                : new RedisQueue($this->redis(...), 'popup:operations')
        );
    }

    private function states(Operations $operations): States
    {
        return match (true) {
            !$this->settings->hasCache() => new DatabaseStates($this->database, $operations),
            $this->settings->redis === null => new FileStates($this->settings->directory('users')),
            default => new RedisStates($this->redis(...)),
        };
    }

    /** @throws \RedisException */
    private function redis(): \Redis
    {
        [$host, $port] = explode(':', "{$this->settings->redis}:0");
        $redis = new \Redis();
        if (!@$redis->connect($host, (int) $port, 2.0, null, 0, 5.0)) {
            throw new \RedisException("Nobody answers at {$this->settings->redis}");
        }

        return $redis;
    }
}

<?php

declare(strict_types=1);

namespace Popup;

use Popup\Cache\ConfigurationCache;
use Popup\Storage\Database;
use Weft\WriteBehind;

/**
 * The health of the service, over all workers of this machine: each writes its numbers to a file once a second.
 *
 * It must not know HTTP.
 */
final class Health
{
    private const EVERY_S = 1.0;

    /** A worker that has not written for so long is gone. */
    private const GONE_S = 10;

    public function __construct(
        private readonly string $directory,
        private readonly Database $database,
        private readonly ConfigurationCache $configurations,
        private readonly ?WriteBehind $writeBehind,
    ) {}

    /** Starts the coroutine that writes the numbers. At boot. */
    public function start(): void
    {
        Background::every(self::EVERY_S, 'telling how this worker is', function (): void {
            $new = "{$this->directory}/" . (int) getmypid() . '.new';
            if (@file_put_contents($new, json_encode($this->own(), JSON_INVALID_UTF8_SUBSTITUTE)) !== false) {
                @rename($new, "{$this->directory}/" . (int) getmypid() . '.json');
            }
        });
    }

    /**
     * This worker's report, and the queue of all workers.
     *
     * @return array<string, mixed> status is "ok", or "degraded" with the reasons in problems
     */
    public function report(): array
    {
        $own = $this->own();

        return ['status' => (array) $own['problems'] === [] ? 'ok' : 'degraded'] + $own + $this->totals();
    }

    /** @return array<string, mixed> sums over the workers of this machine */
    public function totals(): array
    {
        $totals = ['depth' => 0, 'lag_s' => 0.0, 'written' => 0, 'batches' => 0, 'retries' => 0, 'dead' => 0];
        $workers = 0;
        foreach (glob("{$this->directory}/*.json") ?: [] as $path) {
            if (time() - (int) @filemtime($path) > self::GONE_S) {
                @unlink($path);
                continue;
            }
            $queue = json_decode((string) @file_get_contents($path), true)['queue'] ?? [];
            $workers++;
            foreach ($totals as $name => $value) {
                // The oldest record and the list of dead letters are those of all workers, not a sum.
                $isShared = $name === 'lag_s' || $name === 'dead';
                $totals[$name] = $isShared ? max($value, $queue[$name] ?? 0) : $value + ($queue[$name] ?? 0);
            }
        }

        return ['workers' => $workers, 'queues' => $totals];
    }

    /** @return array<string, mixed> */
    private function own(): array
    {
        $queue = $this->writeBehind?->metrics();
        $problems = array_filter([
            'configurations' => $this->configurations->failure(),
            'database' => $this->database->failure(),
            'queue' => $queue['failure'] ?? null,
        ]);
        unset($queue['failure']);

        return [
            'problems' => (object) $problems,
            'configurations_age_s' => round($this->configurations->age() ?? 0.0, 1),
            'queue' => $queue,
        ];
    }
}

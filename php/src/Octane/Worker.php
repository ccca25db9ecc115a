<?php

declare(strict_types=1);

namespace Weft\Octane;

use Laravel\Octane\ApplicationFactory;
use Laravel\Octane\RequestContext;
use Laravel\Octane\Worker as OctaneWorker;

/**
 * Laravel Octane in resident mode. A worker script is
 *
 *     require __DIR__ . '/vendor/autoload.php';
 *     Weft\Octane\Worker::run(__DIR__);
 */
final class Worker
{
    /**
     * Boots the application and serves until the script has to end.
     *
     * @param string $basePath the application's directory, as in Octane: the one with bootstrap/app.php
     */
    public static function run(string $basePath): void
    {
        $client = new Client();
        $worker = new OctaneWorker(new ApplicationFactory($basePath), $client);
        $worker->boot();
        $one = static function () use ($client, $worker): void {
            $worker->handle(...$client->marshalRequest(new RequestContext()));
        };
        while (\frankenphp_handle_request($one)) {
        }
        $worker->terminate();
    }
}

<?php

declare(strict_types=1);

/** A listener that takes connections and says nothing; it lives as long as what is returned. */
function silent(?int &$port): mixed
{
    $listener = stream_socket_server('tcp://127.0.0.1:0');
    $port = (int) substr(strrchr(stream_socket_get_name($listener, false), ':'), 1);

    return $listener;
}

/** Runs something that must fail, not before that many seconds, and says how. */
function failing(float $seconds, callable $work): string
{
    $start = hrtime(true);
    try {
        $work();
    } catch (Throwable $e) {
        $took = (hrtime(true) - $start) / 1e9;

        // Ports differ from run to run.
        return $took < $seconds ? "too early, after $took s" : preg_replace('/(:|port )[0-9]+/', '$1PORT', $e->getMessage());
    }

    return 'it did not fail';
}

<?php

declare(strict_types=1);

/** A listener that accepts connections and sends nothing; it lives as long as the returned value. */
function silent(?int &$port): mixed
{
    $listener = stream_socket_server('tcp://127.0.0.1:0');
    $port = (int) substr(strrchr(stream_socket_get_name($listener, false), ':'), 1);

    return $listener;
}

/** Runs code that must fail, but not before that many seconds; returns the error. */
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

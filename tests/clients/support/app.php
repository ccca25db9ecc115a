<?php

/* Serves a script as an application: its wait, its output, and the length of its wait. */

declare(strict_types=1);

use Weft\Http\Request;

require getenv('CLIENT_SUPPORT') . '/strict.php';

$script = require getenv('CLIENT_SCRIPT');

return static function (Request $request) use ($script): string {
    if ($request->path() === '/terms') {
        $seconds = (float) ($script['seconds'] ?? 0.5);

        return json_encode([
            'seconds' => $seconds,
            'seconds_at_most' => (float) ($script['secondsAtMost'] ?? $seconds),
            'forks' => $script['forks'] ?? false,
        ]);
    }
    if ($request->path() === '/load') {
        usleep(100_000);

        return '';
    }
    if ($request->path() === '/waits') {
        usleep((int) ($request->query('later') * 1e6));

        return $script['waits']((int) $request->query('n'));
    }
    ob_start();
    $script['prints']();

    return ob_get_clean();
};

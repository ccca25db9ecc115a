<?php

/* session_start(): two requests share each session, and the first holds it while it waits. */

declare(strict_types=1);

function open_session(string $id): void
{
    session_save_path(getcwd()); // the test's own directory
    session_id($id);
    session_start(['use_cookies' => 0, 'cache_limiter' => '']);
}

return [
    'prints' => static function (): void {
        $id = bin2hex(random_bytes(16));
        foreach ([1, 2, 3] as $step) {
            open_session($id);
            $_SESSION['steps'][] = $step;
            session_write_close();
        }
        open_session($id);
        echo json_encode($_SESSION), "\n";
        session_destroy();
    },
    'waits' => static function (int $n): string {
        open_session(md5(getmypid() . '-' . ($n >> 1)));
        if ($n % 2 === 0) {
            usleep(500_000);
            $_SESSION['text'] = $n + 1;
            session_write_close();

            return (string) $n;
        }
        // It may have been the first of the two.
        while (!isset($_SESSION['text'])) {
            session_write_close();
            usleep(1000);
            open_session(md5(getmypid() . '-' . ($n >> 1)));
        }
        $text = (string) $_SESSION['text'];
        session_destroy();

        return $text;
    },
];

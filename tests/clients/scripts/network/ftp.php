<?php

/* ext-ftp and the ftp wrapper: reading, writing, lists, non-blocking transfers. */

declare(strict_types=1);

function session(): FTP\Connection
{
    [$host, $port] = explode(':', getenv('UPSTREAM_FTP'));
    $ftp = ftp_connect($host, (int) $port, 20);
    ftp_login($ftp, 'user', 'password');
    ftp_pasv($ftp, true);

    return $ftp;
}

function read(FTP\Connection $ftp, string $file): string
{
    $memory = fopen('php://memory', 'r+');
    ftp_fget($ftp, $memory, $file, FTP_BINARY);
    rewind($memory);

    return stream_get_contents($memory);
}

return [
    'prints' => static function (): void {
        $ftp = session();
        echo ftp_pwd($ftp), ' ', read($ftp, '20-file'), ' ', ftp_size($ftp, 'twelve-bytes'), ' ', implode(ftp_nlist($ftp, '.')), "\n";
        $memory = fopen('php://memory', 'r+');
        fwrite($memory, str_repeat('x', 300_000));
        rewind($memory);
        var_dump(ftp_fput($ftp, 'stored', $memory, FTP_BINARY));
        $memory = fopen('php://memory', 'r+');
        for ($state = ftp_nb_fget($ftp, $memory, '20-later', FTP_BINARY); $state === FTP_MOREDATA; $state = ftp_nb_continue($ftp)) {
            usleep(1000);
        }
        rewind($memory);
        var_dump($state === FTP_FINISHED, stream_get_contents($memory), ftp_close($ftp));
        var_dump(file_get_contents('ftp://user:password@' . getenv('UPSTREAM_FTP') . '/20-wrapper'));
        var_dump(@ftp_connect('127.0.0.1', 1, 1));
    },
    'waits' => static fn (int $n): string => $n % 2
        ? substr(read(session(), "500-$n"), 4)
        : substr(file_get_contents('ftp://user:password@' . getenv('UPSTREAM_FTP') . "/500-$n"), 4),
];

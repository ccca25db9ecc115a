<?php

/* curl: uploads from a file and from a callback, forms, a progress callback that waits and one that aborts the
 * transfer. */

declare(strict_types=1);

/** @param array<int, mixed> $options */
function upload(array $options, int $late = 0): string
{
    $curl = curl_init(getenv('UPSTREAM_HTTP') . "/late/$late/none");
    curl_setopt_array($curl, $options + [CURLOPT_RETURNTRANSFER => true]);
    $answer = curl_exec($curl);

    return $answer === false ? 'error ' . curl_errno($curl) : $answer;
}

/** @return array<int, mixed> */
function file_of(int $bytes): array
{
    $file = tmpfile();
    fwrite($file, str_repeat('x', $bytes));
    rewind($file);

    return [CURLOPT_UPLOAD => true, CURLOPT_INFILE => $file, CURLOPT_INFILESIZE => $bytes];
}

return [
    'prints' => static function (): void {
        echo upload(file_of(3_000_000)), "\n";
        $left = 500_000;
        echo upload([
            CURLOPT_UPLOAD => true,
            CURLOPT_INFILESIZE => $left,
            CURLOPT_READFUNCTION => static function ($curl, $file, int $room) use (&$left): string {
                usleep(100);
                $part = min($room, $left);
                $left -= $part;

                return str_repeat('y', $part);
            },
        ]), "\n";
        $seen = 0;
        echo upload([
            CURLOPT_NOPROGRESS => false,
            CURLOPT_PROGRESSFUNCTION => static function ($curl, int $total, int $done, int $size, int $sent) use (&$seen): int {
                usleep(100);
                $seen = max($seen, $sent);

                return 0;
            },
        ] + file_of(200_000)), " $seen\n";
        echo upload([CURLOPT_NOPROGRESS => false, CURLOPT_XFERINFOFUNCTION => static fn (): int => 1] + file_of(10)), "\n";
        $path = tempnam(sys_get_temp_dir(), 'form');
        file_put_contents($path, 'content');
        echo upload([CURLOPT_POSTFIELDS => 'a=b&c=d']), "\n";
        echo upload([CURLOPT_POSTFIELDS => ['field' => new CURLFile($path, 'text/plain', 'name')]]) > 100 ? 'form' : 'nothing', "\n";
        unlink($path);
    },
    'waits' => static fn (int $n): string => upload(file_of(100_000 + $n), 500) === (string) (100_000 + $n) ? (string) $n : 'lost',
];

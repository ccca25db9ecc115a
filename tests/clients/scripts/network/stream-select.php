<?php

/* stream_select(): reading, writing, many streams, buffered data, time-outs. */

declare(strict_types=1);

return [
    'prints' => static function (): void {
        $line = static fn (string $text) => tap(stream_socket_client('tcp://' . getenv('UPSTREAM_LINE')), $text);
        $streams = ['second' => $line(''), 'first' => $line("20 line\n"), 'never' => $line('no end of line')];
        $order = [];
        while (count($order) < 2) {
            $read = $streams;
            $write = $except = null;
            var_dump(stream_select($read, $write, $except, 20));
            foreach ($read as $name => $stream) {
                $order[] = $name . ' ' . trim(fgets($stream));
                unset($streams[$name]);
            }
            count($order) === 1 && fwrite($streams['second'], "20 line\n");
        }
        echo implode(' ', $order), "\n";
        $read = $streams;
        $write = [];
        var_dump(stream_select($read, $write, $except, 0, 20_000), $read);
        [$a, $b] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
        fwrite($b, "one\ntwo\n");
        fgets($a);
        $read = [$a]; // "two" is in PHP's buffer
        $write = [$a, $b];
        var_dump(stream_select($read, $write, $except, 5), count($read), count($write));
        fclose($b);
        $read = [$a];
        fgets($a);
        var_dump(stream_select($read, $write, $except, 5), feof($a) || fgets($a) === false);
    },
    'waits' => static function (int $n): string {
        $stream = stream_socket_client('tcp://' . getenv('UPSTREAM_LINE'));
        fwrite($stream, "500 $n\n");
        $silent = stream_socket_client('tcp://' . getenv('UPSTREAM_LINE'));
        $read = [$silent, $stream];
        $write = $except = null;

        return stream_select($read, $write, $except, 20) === 1 ? trim(fgets(current($read))) : 'nothing';
    },
];

/**
 * Writes to a stream and returns the stream.
 *
 * @param resource $stream
 * @return resource
 */
function tap($stream, string $text)
{
    fwrite($stream, $text);

    return $stream;
}

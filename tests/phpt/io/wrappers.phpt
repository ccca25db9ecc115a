--TEST--
User stream wrappers that wait, filters, data: and compress.zlib:
--FILE--
<?php
class Slow {
    public $context; private $at = 0;
    function stream_open($path, $mode, $options, &$opened) { usleep(10); return true; }
    function stream_read($n) { usleep(10); return $this->at++ < 3 ? "part{$this->at};" : ''; }
    function stream_eof() { return $this->at >= 3; }
    function stream_stat() { return []; }
}
stream_wrapper_register('slow', 'Slow');
echo file_get_contents('slow://x'), "\n";
echo file_get_contents('data:text/plain;base64,SGVsbG8='), "\n";
file_put_contents('compress.zlib://' . __DIR__ . '/z.gz', str_repeat('z', 1000));
echo strlen(file_get_contents('compress.zlib://' . __DIR__ . '/z.gz')), ' ', filesize(__DIR__ . '/z.gz') < 100 ? 'small' : 'big', "\n";
$f = fopen('php://memory', 'w+');
stream_filter_append($f, 'string.rot13', STREAM_FILTER_WRITE);
fwrite($f, 'Uryyb');
rewind($f);
echo fgets($f), "\n";
--EXPECT--
part1;part2;part3;
Hello
1000 small
Hello

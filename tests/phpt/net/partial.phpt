--TEST--
Partial reads and writes: what comes in parts, what does not fit, and who closes first
--FILE--
<?php
[$a, $b] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
$pid = pcntl_fork();
if ($pid === 0) {
    fclose($a);
    foreach (['par', 'ts ', 'of a line', "\n", 'and no end'] as $part) {
        fwrite($b, $part);
        usleep(20_000);
    }
    $seen = 0;
    while ($seen < 2_000_000 && ($text = fread($b, 65_536)) !== '') {
        $seen += strlen($text);
    }
    fwrite($b, "|$seen");
    exit;
}
fclose($b);
var_dump(fgets($a), fread($a, 3), fread($a, 7));
// A blocking stream accepts all of it; the reader is slow.
var_dump(fwrite($a, str_repeat('x', 2_000_000)));
$rest = stream_get_contents($a);
var_dump(substr($rest, strpos($rest, '|')), feof($a), fread($a, 10));
pcntl_waitpid($pid, $status);
// The reader is gone.
var_dump(@fwrite($a, 'late'), error_get_last()['message']);
// A non-blocking stream accepts what fits.
[$a, $b] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
stream_set_blocking($a, false);
$written = fwrite($a, str_repeat('y', 5_000_000));
var_dump($written > 0 && $written < 5_000_000, @fwrite($a, 'z'), fread($a, 10));
--EXPECT--
string(16) "parts of a line
"
string(3) "and"
string(7) " no end"
int(2000000)
string(8) "|2000000"
bool(true)
string(0) ""
bool(false)
string(58) "fwrite(): Send of 4 bytes failed with errno=32 Broken pipe"
bool(true)
int(0)
string(0) ""

--TEST--
PHP_BINARY runs scripts, with php's options and without
--FILE--
<?php
$script = __DIR__ . '/binary.phpt.child.php';
file_put_contents($script, '<?php $input = stream_get_contents(STDIN); fwrite(STDOUT, $input); fwrite(STDERR, $input);');
echo shell_exec(escapeshellarg(PHP_BINARY) . ' -n -r ' . escapeshellarg('echo 6 * 7, "\n";'));
echo shell_exec('echo said | ' . escapeshellarg(PHP_BINARY) . ' ' . escapeshellarg($script) . ' 2>/dev/null');

// More than a pipe's page to a child, and its two answers without blocking.
$child = proc_open([PHP_BINARY, '-n', $script], [['pipe', 'r'], ['pipe', 'w'], ['pipe', 'w']], $pipes);
fwrite($pipes[0], str_repeat('*', 10_000));
fclose($pipes[0]);
$said = [1 => '', 2 => ''];
array_map(fn (int $pipe) => stream_set_blocking($pipes[$pipe], false), [1, 2]);
while (!feof($pipes[1]) || !feof($pipes[2])) {
    $ready = array_filter([1 => $pipes[1], 2 => $pipes[2]], fn ($pipe) => !feof($pipe));
    $none = [];
    stream_select($ready, $none, $none, 60);
    foreach ($ready as $number => $pipe) {
        $said[$number] .= fread($pipe, 8192);
    }
}
var_dump(strlen($said[1]), strlen($said[2]), proc_close($child));
unlink($script);
--EXPECT--
42
said
int(10000)
int(10000)
int(0)

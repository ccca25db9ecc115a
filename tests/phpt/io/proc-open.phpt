--TEST--
proc_open() with pipes, environment, directory and exit code
--FILE--
<?php
$process = proc_open(['sh', '-c', 'read line; echo "got $line in $(basename $PWD) $V"; echo err >&2; exit 5'],
    [['pipe', 'r'], ['pipe', 'w'], ['pipe', 'w']], $pipes, '/tmp', ['V' => 'env', 'PATH' => getenv('PATH')]);
fwrite($pipes[0], "input\n");
fclose($pipes[0]);
echo stream_get_contents($pipes[1]), stream_get_contents($pipes[2]);
$status = proc_get_status($process);
var_dump(is_int($status['pid']), proc_close($process) === 5 || $status['exitcode'] === 5);
$process = proc_open(['sleep', '60'], [], $pipes);
var_dump(proc_get_status($process)['running'], proc_terminate($process, 9), proc_close($process));
--EXPECT--
got input in tmp env
err
bool(true)
bool(true)
bool(true)
bool(true)
int(9)

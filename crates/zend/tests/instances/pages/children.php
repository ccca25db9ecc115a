<?php

$n = (int) $_GET['n'];
$directory = $n % 2 ? '/usr' : '/var';
chdir($directory);
putenv("INSTANCE_NUMBER=$n");
usleep(1000);
$bad = [];
$bad['shell_exec'] = trim(shell_exec('sleep 0.02; echo $INSTANCE_NUMBER; pwd')) !== "$n\n$directory";
$process = proc_open(['sh', '-c', 'sleep 0.01; cat; exit 3'], [['pipe', 'r'], ['pipe', 'w']], $pipes);
fwrite($pipes[0], "in $n");
fclose($pipes[0]);
$bad['proc_open'] = stream_get_contents($pipes[1]) !== "in $n";
fclose($pipes[1]);
$bad['proc_close'] = proc_close($process) !== 3;
ob_start();
passthru("echo through $n");
$bad['passthru'] = trim(ob_get_clean()) !== "through $n";
$bad['getenv'] = getenv('INSTANCE_NUMBER') !== "$n" || getcwd() !== $directory;
putenv('INSTANCE_NUMBER');
$bad['unset'] = getenv('INSTANCE_NUMBER') !== false;
$bad = array_keys(array_filter($bad));
echo $bad ? 'BAD ' . implode(', ', $bad) : "OK $n";

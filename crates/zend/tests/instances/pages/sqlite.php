<?php

$n = (int) $_GET['n'];
$database = new PDO('sqlite:' . $_GET['in'] . '/db.sqlite', null, null, [PDO::ATTR_TIMEOUT => 20, PDO::ATTR_PERSISTENT => true]);
$database->exec('create table if not exists notes (number int, text text)');
$database->exec('begin immediate');
$database->exec("insert into notes values ($n, 'note $n')");
usleep(500);
$database->exec('commit');
$found = $database->query("select text from notes where number = $n")->fetchAll(PDO::FETCH_COLUMN);
echo $found === ["note $n"] ? "OK $n" : 'BAD ' . json_encode($found);

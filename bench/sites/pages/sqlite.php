<?php
// Some 20 ms of work and one row in an SQLite database, as a small application writes its sessions or its log.
$name = basename($_GET['database'] ?? 'wal');
$database = new PDO('sqlite:' . dirname(__DIR__, 2) . "/out/$name.db", null, null, [
    PDO::ATTR_TIMEOUT => 10,
    PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION,
]);
for ($i = 0, $text = ''; $i < 60_000; $i++) {
    $text = md5($text . $i);
}
try {
    $database->prepare('INSERT INTO rows (text) VALUES (?)')->execute([$text]);
} catch (PDOException $error) {
    http_response_code(500);
    echo $error->getMessage();
}

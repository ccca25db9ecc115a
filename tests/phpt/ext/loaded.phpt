--TEST--
Debian's extensions load and work: mysql, pgsql, sqlite3, curl, redis, apcu, intl, mbstring, gd
--INI--
apc.enable_cli=1
--FILE--
<?php
foreach (['mysqli', 'mysqlnd', 'pdo_mysql', 'pgsql', 'pdo_pgsql', 'sqlite3', 'pdo_sqlite', 'curl', 'redis', 'apcu', 'intl', 'mbstring', 'gd', 'openssl'] as $name) {
    if (!extension_loaded($name)) {
        echo "$name is missing\n";
    }
}
$image = imagecreatetruecolor(2, 2);
ob_start();
imagepng($image);
echo substr(ob_get_clean(), 1, 3), "\n";
var_dump(apcu_store('key', [1, 2]), apcu_fetch('key'), apcu_entry('lazy', function () { usleep(100); return 'made'; }));
try {
    new mysqli('127.0.0.1', 'nobody', '', '', 1);
} catch (mysqli_sql_exception $e) {
    echo $e->getMessage(), "\n";
}
try {
    (new Redis())->connect('127.0.0.1', 1, 1.0);
} catch (RedisException $e) {
    echo $e->getMessage(), "\n";
}
try {
    new PDO('pgsql:host=127.0.0.1;port=1');
} catch (PDOException $e) {
    echo strtok($e->getMessage(), ':'), "\n";
}
echo (new SQLite3(':memory:'))->querySingle('SELECT 6 * 7'), ' ', strlen(openssl_random_pseudo_bytes(4)), ' ', php_ini_scanned_files() !== '' ? 'conf.d' : 'none', "\n";
--EXPECT--
PNG
bool(true)
array(2) {
  [0]=>
  int(1)
  [1]=>
  int(2)
}
string(4) "made"
Connection refused
Connection refused
SQLSTATE[08006] [7] connection to server at "127.0.0.1", port 1 failed
42 4 conf.d

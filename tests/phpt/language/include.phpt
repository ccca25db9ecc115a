--TEST--
include, require_once, return values, variable scope, include_path, conditional functions
--FILE--
<?php
file_put_contents(__DIR__ . '/config.php', '<?php $seen = ($seen ?? 0) + 1; return ["debug" => true, "line" => __LINE__];');
mkdir(__DIR__ . '/lib');
file_put_contents(__DIR__ . '/lib/util.php', '<?php function util() { return basename(__DIR__); }');
$config = include __DIR__ . '/config.php';
include 'config.php';
var_dump($config['debug'], $config['line'], $seen);
set_include_path(__DIR__ . '/lib' . PATH_SEPARATOR . get_include_path());
var_dump(require_once 'util.php', require_once 'util.php', util());
var_dump(array_map('basename', get_included_files()));
--EXPECT--
bool(true)
int(1)
int(2)
int(1)
bool(true)
string(3) "lib"
array(3) {
  [0]=>
  string(8) "test.php"
  [1]=>
  string(10) "config.php"
  [2]=>
  string(8) "util.php"
}

--TEST--
phpinfo() names the SAPI, the ini files and the extensions
--FILE--
<?php
ob_start();
phpinfo();
$info = ob_get_clean();
var_dump(preg_match('/^Configuration$/m', $info), preg_match('/^PDO drivers => .*sqlite/m', $info), preg_match('/^Loaded Configuration File => .+php.ini$/m', $info));
var_dump(extension_loaded('intl'), function_exists('curl_init'), in_array('Zend OPcache', get_loaded_extensions(true)));
--EXPECT--
int(1)
int(1)
int(1)
bool(true)
bool(true)
bool(true)

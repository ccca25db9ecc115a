--TEST--
File sessions of a command-line script
--FILE--
<?php
ini_set('session.save_path', __DIR__);
ini_set('session.use_cookies', 0);
ini_set('session.cache_limiter', '');
session_id('weftsession');
session_start();
$_SESSION['n'] = 1;
session_write_close();
usleep(100);
session_start();
var_dump(++$_SESSION['n'], session_status() === PHP_SESSION_ACTIVE, file_exists(__DIR__ . '/sess_weftsession'));
session_destroy();
var_dump(file_exists(__DIR__ . '/sess_weftsession'));
--EXPECT--
int(2)
bool(true)
bool(true)
bool(false)

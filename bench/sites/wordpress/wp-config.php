<?php

// The site owner's configuration, one level above the document root. The database is that of bench/lab/backends.py.
define('DB_NAME', 'bench');
define('DB_USER', 'bench');
define('DB_PASSWORD', 'bench');
define('DB_HOST', 'localhost:' . getenv('BENCH_DB_SOCKET'));
define('DB_CHARSET', 'utf8mb4');
define('DB_COLLATE', '');
foreach (['AUTH', 'SECURE_AUTH', 'LOGGED_IN', 'NONCE'] as $key) {
    define("{$key}_KEY", "key of $key");
    define("{$key}_SALT", "salt of $key");
}
$table_prefix = 'wp_';
define('WP_HOME', 'http://' . $_SERVER['HTTP_HOST']);
define('WP_SITEURL', WP_HOME);
define('WP_HTTP_BLOCK_EXTERNAL', true); // no machine of the internet is asked for news
define('WP_ACCESSIBLE_HOSTS', '127.0.0.1');
define('DISABLE_WP_CRON', true);
if (!defined('ABSPATH')) {
    define('ABSPATH', __DIR__ . '/public/');
}
require_once ABSPATH . 'wp-settings.php';

<?php

// In the place of /etc/phpmyadmin/config.inc.php. The database is that of bench/lab/backends.py; everybody is logged in to it.
$cfg['blowfish_secret'] = str_repeat('k', 32);
$cfg['Servers'][1] = [
    'auth_type' => 'config',
    'host' => 'localhost',
    'socket' => getenv('BENCH_DB_SOCKET'),
    'user' => 'bench',
    'password' => 'bench',
];

<?php

// php install.php DOCROOT: the tables, the first post and its comment, as the installer's page makes them.
define('WP_INSTALLING', true);
$_SERVER += ['HTTP_HOST' => 'localhost', 'SERVER_PROTOCOL' => 'HTTP/1.1', 'REQUEST_METHOD' => 'GET'];
require $argv[1] . '/wp-load.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';
wp_install('The bench', 'boss', 'boss@site.test', true, '', 'a long pass phrase');

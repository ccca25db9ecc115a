<?php

// php install.php DOCROOT: creates the tables, the first post and its comment, as the installer's page does.
define('WP_INSTALLING', true);
$_SERVER += ['HTTP_HOST' => 'localhost', 'SERVER_PROTOCOL' => 'HTTP/1.1', 'REQUEST_METHOD' => 'GET'];
require $argv[1] . '/wp-load.php';
require ABSPATH . 'wp-admin/includes/upgrade.php';
wp_install('The bench', 'boss', 'boss@site.test', true, '', 'a long pass phrase');

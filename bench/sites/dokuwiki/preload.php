<?php

// In the place of Debian's inc/preload.php, which looks for the configuration in /etc/dokuwiki.
define('DOKU_CONF', dirname(__DIR__, 2) . '/conf/');

<?php

declare(strict_types=1);

// A service that tells an application's home page whether there is a pop-up for its user now, and counts what users do with it.
//
//     weft serve examples/popup/app.php
//     curl -d '{"user": "ada", "platform": "ios", "version": "5.2.1"}' http://127.0.0.1:8080/v1/ask
//
// It runs by itself (SQLite, files), or on MariaDB and Redis: src/Settings.php says how. docs/guide/popup.md tells why it is
// built as it is. Read src/Rules/Rules.php first, then src/Service.php, then src/App.php.

require __DIR__ . '/src/autoload.php';

$app = new Popup\App(Popup\Settings::from(getenv()));
$app->start();

return $app->router();

<?php

declare(strict_types=1);

// A chat: rooms, who is there, what was missed, and a live dashboard. Pages and WebSockets on one port.
//
//     weft serve examples/push/app.php
//     xdg-open http://127.0.0.1:8080
//
// README.md has the rest: a classic page that publishes, the command line, and several hosts. Read src/Chat.php first, then
// public/socket.js.

require __DIR__ . '/src/Room.php';
require __DIR__ . '/src/Chat.php';
require __DIR__ . '/src/Dashboard.php';
require __DIR__ . '/src/pages.php';

return new Weft\Application(Push\pages(...), ['/chat' => new Push\Chat(), '/live' => new Push\Dashboard()]);

<?php

declare(strict_types=1);

// The pages of bench/sites/pages, by a script that stays loaded: weft's resident mode, and FrankenPHP's workers.

require __DIR__ . '/../../apps/items.php';

$answer = static function (): void {
    switch (strtok($_SERVER['REQUEST_URI'], '?')) {
        case '/sleep':
            usleep(10_000);
            echo 'Hello World';
            break;
        case '/json':
            header('Content-Type: application/json');
            echo json_encode(items((int) ($_GET['id'] ?? 0)), JSON_THROW_ON_ERROR);
            break;
        case '/received':
            echo strlen(file_get_contents('php://input')), ' bytes';
            break;
        case '/sent':
            echo str_pad(($_GET['id'] ?? '') . ' ', 1 << 20, 'x');
            break;
        default:
            echo 'Hello World';
    }
};
while (frankenphp_handle_request($answer)) {
}

<?php

require_once __DIR__ . '/../../apps/items.php';

header('Content-Type: application/json');
echo json_encode(items((int) ($_GET['id'] ?? 0)), JSON_THROW_ON_ERROR);

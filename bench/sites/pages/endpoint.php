<?php
// The nine others: a small list as JSON.
$endpoint = (int) ($_GET['part'] ?? 0) % 9 + 1;
header('Content-Type: application/json');
echo json_encode(['endpoint' => $endpoint, 'items' => array_map(fn (int $n): array => ['id' => $n * $endpoint, 'name' => "item $n"], range(1, 20))]);

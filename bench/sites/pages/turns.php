<?php
require dirname(__DIR__) . '/turns.php';
echo take_turns((int) ($_GET['rounds'] ?? 1), (int) ($_GET['players'] ?? 1), (int) ($_GET['board'] ?? 1));

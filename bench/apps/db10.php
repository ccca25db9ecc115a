<?php

use Weft\Database\SharedPdo;
use Weft\Http\Request;

require __DIR__ . '/queries.php';

$db = new SharedPdo(DSN, 'bench', 'bench', [PDO::ATTR_EMULATE_PREPARES => false], max: SLOW_CONNECTIONS, waitTimeout: 30);

return fn (Request $r): string => slow_query($db);

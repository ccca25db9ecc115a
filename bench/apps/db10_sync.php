<?php

use Weft\Http\Request;

require __DIR__ . '/queries.php';

return function (Request $r): string {
    static $db = null;
    $db ??= new PDO(DSN, 'bench', 'bench');

    return slow_query($db);
};

<?php

// Resident and synchronous: one request at a time in each worker (--coroutines-max 1), one connection, statements prepared once.

use Weft\Http\Request;

require __DIR__ . '/queries.php';

return function (Request $r): string {
    static $db = null, $byId, $some;
    if ($db === null) {
        $db = new PDO(DSN, 'bench', 'bench', [PDO::ATTR_EMULATE_PREPARES => false]);
        $byId = $db->prepare(BY_ID);
        $some = $db->prepare(SOME);
    }
    $byId->execute([1]);
    $one = $byId->fetch();
    $byId->execute([2]);
    $two = $byId->fetch();
    $some->execute();

    return answer($one, $two, $some->fetchAll());
};

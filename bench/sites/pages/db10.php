<?php
require dirname(__DIR__, 2) . '/apps/queries.php';
echo slow_query(new PDO(DSN, 'bench', 'bench', [PDO::ATTR_PERSISTENT => true]));

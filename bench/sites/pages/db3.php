<?php
// Persistent connections, because otherwise each request would connect. The client prepares: one round trip per
// statement.
require dirname(__DIR__, 2) . '/apps/queries.php';
echo three_queries(new PDO(DSN, 'bench', 'bench', [PDO::ATTR_PERSISTENT => true]));

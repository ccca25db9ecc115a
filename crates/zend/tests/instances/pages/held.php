<?php

declare(strict_types=1);

// Wants opcache's memory to be emptied, and uses it meanwhile: nobody may do it before this request has ended.
opcache_reset();
usleep(20_000);
$status = opcache_get_status(false);
$waits = $status['restart_pending'] && $status['opcache_statistics']['manual_restarts'] === 0;
echo $waits ? 'held' : 'opcache restarted under a request', " $_GET[n]";

<?php

declare(strict_types=1);

// Requests that opcache's memory be emptied, and uses it meanwhile: that must not happen before this request
// has ended.
opcache_reset();
usleep(20_000);
$status = opcache_get_status(false);
$waits = $status['restart_pending'] && $status['opcache_statistics']['manual_restarts'] === 0;
echo $waits ? 'held' : 'opcache restarted under a request', " $_GET[n]";

<?php
// Waits for a slow upstream, as a sleep; tells by the clock when its answer arrived.
$due = microtime(true) + 1.0;
usleep(1_000_000);
echo $due;

<?php

// Added to what MediaWiki's installer wrote: settings that its manual of performance gives for one server.
$wgMainCacheType = CACHE_ACCEL;
$wgParserCacheType = CACHE_DB;
$wgSessionCacheType = CACHE_DB;
$wgJobRunRate = 0; // jobs are run from cron
$wgServer = 'http://' . ($_SERVER['HTTP_HOST'] ?? 'localhost');

<?php
$statistics = opcache_get_status(false)["opcache_statistics"];
echo $statistics["manual_restarts"];

<?php
usleep(500);
opcache_reset();
echo "reset";

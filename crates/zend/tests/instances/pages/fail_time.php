<?php
usleep(2000);
set_time_limit(1);
while (true) {
    $x = sqrt(2);
}

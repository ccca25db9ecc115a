<?php
usleep(2000);
function again(int $n): int
{
    return again($n + 1) + 1;
}
again(0);

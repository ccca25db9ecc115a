<?php
usleep(2000);
function deeper(int $n): array
{
    return array_map(deeper(...), [$n + 1]);
}
ini_set("memory_limit", "-1");
deeper(0);

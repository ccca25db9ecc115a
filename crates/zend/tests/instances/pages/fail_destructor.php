<?php
class Last
{
    public function __destruct()
    {
        usleep(2000);
        throw new LogicException("at the end");
    }
}
$last = new Last();
usleep(2000);

<?php

// Hello, and at /sleep after 10 ms.
return static function (Weft\Http\Request $r): string {
    if ($r->path() === '/sleep') {
        usleep(10_000);
    }

    return 'Hello World';
};

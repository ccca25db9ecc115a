<?php

// "/" answers at once, so that the bench can see that the server is up; "/park" holds its coroutine.
return function (Weft\Http\Request $r): string {
    if ($r->path() === '/park') {
        sleep(600);
    }

    return 'Hello World';
};

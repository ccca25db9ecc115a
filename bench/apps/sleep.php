<?php

return function (Weft\Http\Request $r): string {
    usleep(10_000);

    return 'Hello World';
};

<?php

return function (Weft\Http\Request $r): string {
    usleep(50_000);

    return 'slow';
};

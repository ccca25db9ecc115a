<?php

return function (Weft\Http\Request $r): string {
    usleep((int) $r->query('ms', 50) * 1_000);

    return 'slow';
};

<?php

// A new string for each request: its first bytes are the request's.
return static fn (Weft\Http\Request $r): string => str_pad((string) $r->query('id') . ' ', 1 << 20, 'x');

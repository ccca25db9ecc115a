<?php

return static fn (Weft\Http\Request $r): string => strlen($r->body()) . ' bytes';

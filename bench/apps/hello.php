<?php

return fn (Weft\Http\Request $r) => 'Hello World';

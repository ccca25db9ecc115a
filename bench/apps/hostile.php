<?php

/** Looks at everything a client can send, so that all of it is read. */
return fn (Weft\Http\Request $r) => count($_GET) . count($_COOKIE) . count($_POST) . count($_FILES) . count($_SERVER);

<?php

/** Reads everything that a client can send. */
return fn (Weft\Http\Request $r) => count($_GET) . count($_COOKIE) . count($_POST) . count($_FILES) . count($_SERVER);

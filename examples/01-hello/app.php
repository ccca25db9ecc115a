<?php
// The smallest application: a script that returns its handler.
//
//     weft serve examples/01-hello/app.php
//     curl http://127.0.0.1:8080/?name=Ada

use Weft\Http\Request;

return fn (Request $request) => 'Hello ' . htmlspecialchars($request->query('name', 'World')) . "\n";

<?php

declare(strict_types=1);

namespace Push;

use Weft\Http\Request;
use Weft\Http\Response;

/** The pages are files, as they are. Nothing from other sites, nothing inline: a text that someone has written runs nowhere. */
function pages(Request $request): Response
{
    $file = match ($request->path()) {
        '/' => 'chat.html',
        '/dashboard' => 'dashboard.html',
        '/chat.js', '/dashboard.js', '/socket.js', '/style.css' => substr($request->path(), 1),
        default => null,
    };
    if ($file === null) {
        return Response::text("There is nothing here.\n", 404);
    }
    $response = Response::file(__DIR__ . "/../public/$file");
    $response->setHeader('Content-Security-Policy', "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'");
    $response->setHeader('X-Content-Type-Options', 'nosniff');
    $response->setHeader('Cache-Control', 'no-cache'); // ask whether it has changed

    return $response;
}

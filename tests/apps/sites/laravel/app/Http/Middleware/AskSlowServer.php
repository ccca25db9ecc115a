<?php

declare(strict_types=1);

namespace App\Http\Middleware;

use Closure;
use Illuminate\Http\Request;
use Illuminate\Support\Facades\View;
use Symfony\Component\HttpFoundation\Response;

/** Asks another server about the visitor before each page; its answer appears in the page and in a header. */
final class AskSlowServer
{
    public function handle(Request $request, Closure $next): Response
    {
        $visitor = (string) preg_replace('/[^a-z0-9]/', '', (string) $request->header('X-Visitor'));
        $said = $visitor;
        if ($visitor !== '') {
            $late = (int) $request->header('X-Late');
            $said = (string) file_get_contents(config('app.upstream') . "/late/$late/$visitor");
        }
        View::share('visitor', $said);
        $response = $next($request);
        $response->headers->set('X-Visitor', $said);

        return $response;
    }
}

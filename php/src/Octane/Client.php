<?php

declare(strict_types=1);

namespace Weft\Octane;

use Illuminate\Foundation\Application;
use Illuminate\Http\Request;
use Laravel\Octane\Contracts\Client as OctaneClient;
use Laravel\Octane\OctaneResponse;
use Laravel\Octane\RequestContext;
use Symfony\Component\HttpFoundation\Response;
use Throwable;

/** Connects Octane to the server: requests come as PHP's own variables, responses go out through header() and echo. */
final class Client implements OctaneClient
{
    /** @return array{Request, RequestContext} */
    public function marshalRequest(RequestContext $context): array
    {
        return [Request::capture(), $context];
    }

    /** The response is complete when this returns; no client waits for what the application does afterwards. */
    public function respond(RequestContext $context, OctaneResponse $response): void
    {
        $response->response->sendHeaders();
        echo $response->outputBuffer;
        $response->response->sendContent();
        \frankenphp_finish_request();
    }

    /** Octane reports the error itself, by the event WorkerErrorOccurred. */
    public function error(Throwable $e, Application $app, Request $request, RequestContext $context): void
    {
        $text = $app->make('config')->get('app.debug') ? (string) $e : 'Internal Server Error';
        (new Response($text, 500, ['Content-Type' => 'text/plain; charset=UTF-8']))->send();
    }
}

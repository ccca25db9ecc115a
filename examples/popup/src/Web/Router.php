<?php

declare(strict_types=1);

namespace Popup\Web;

use Popup\Health;
use Weft\Http\Request;
use Weft\Http\Response;

/** Finds what answers a request. Invariant: a client only ever sees a response made here: no stack trace, no HTML error. */
final class Router
{
    private const PUBLIC = __DIR__ . '/../../public';

    /** Path to file, for GET. */
    private const FILES = [
        '/' => 'home.html',
        '/home.js' => 'home.js',
        '/style.css' => 'style.css',
        '/admin/admin.js' => 'admin.js',
        '/openapi.yaml' => '../openapi.yaml',
    ];

    public function __construct(
        private readonly Api $api,
        private readonly Admin $admin,
        private readonly Health $health,
        private readonly bool $keepsAlive,
    ) {}

    public function __invoke(Request $request): Response
    {
        try {
            $response = $this->route($request);
        } catch (Problem $problem) {
            $response = $problem->response();
        }

        return $this->keepsAlive ? $response : $response->setHeader('Connection', 'close');
    }

    private function route(Request $request): Response
    {
        $path = $request->path();
        if ($path === '/v1/ask' || $path === '/v1/operations') {
            self::allow($request, 'POST');

            return $path === '/v1/ask' ? $this->api->ask($request) : $this->api->report($request);
        }
        if (isset(self::FILES[$path])) {
            self::allow($request, 'GET', 'HEAD');

            return self::file($path);
        }
        if ($path === '/admin' || str_starts_with($path, '/admin/')) {
            self::allow($request, 'GET', 'POST');

            return $this->admin->handle($request);
        }
        if ($path === '/health') {
            self::allow($request, 'GET', 'HEAD');

            return Response::json($this->health->report())->setHeader('Cache-Control', 'no-store');
        }
        throw new Problem(404, 'not_found', 'There is nothing here; /openapi.yaml tells what there is');
    }

    private static function file(string $path): Response
    {
        $response = Response::file(self::PUBLIC . '/' . self::FILES[$path]);
        foreach (Pages::HEADERS as $name => $value) {
            $response->setHeader($name, $value);
        }

        return $response;
    }

    private static function allow(Request $request, string ...$methods): void
    {
        if (!in_array($request->method(), $methods, true)) {
            $allowed = implode(', ', $methods);
            throw new Problem(405, 'method_not_allowed', "Use $allowed", null, ['Allow' => $allowed]);
        }
    }
}

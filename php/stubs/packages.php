<?php

/**
 * Declarations of packages that applications bring and that no distribution has, as far as this library uses them.
 *
 * For static analysis only: nothing loads this file. The packages: psr/http-server-handler and laravel/octane.
 */

namespace Psr\Http\Server;

interface RequestHandlerInterface
{
    public function handle(\Psr\Http\Message\ServerRequestInterface $request): \Psr\Http\Message\ResponseInterface;
}

namespace Laravel\Octane;

class RequestContext
{
    /** @param array<string, mixed> $data */
    public function __construct(public array $data = []) {}
}

class OctaneResponse
{
    public function __construct(
        public \Symfony\Component\HttpFoundation\Response $response,
        public ?string $outputBuffer = null,
    ) {}
}

class ApplicationFactory
{
    public function __construct(protected string $basePath) {}
}

class Worker
{
    public function __construct(protected ApplicationFactory $appFactory, protected Contracts\Client $client) {}

    /** @param array<string, mixed> $initialInstances */
    public function boot(array $initialInstances = []): void {}

    public function handle(\Illuminate\Http\Request $request, RequestContext $context): void {}

    public function terminate(): void {}
}

namespace Laravel\Octane\Contracts;

interface Client
{
    /** @return array{\Illuminate\Http\Request, \Laravel\Octane\RequestContext} */
    public function marshalRequest(\Laravel\Octane\RequestContext $context): array;

    public function respond(\Laravel\Octane\RequestContext $context, \Laravel\Octane\OctaneResponse $response): void;

    public function error(
        \Throwable $e,
        \Illuminate\Foundation\Application $app,
        \Illuminate\Http\Request $request,
        \Laravel\Octane\RequestContext $context,
    ): void;
}

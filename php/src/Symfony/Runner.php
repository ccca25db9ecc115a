<?php

declare(strict_types=1);

namespace Weft\Symfony;

use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpKernel\HttpKernelInterface;
use Symfony\Component\HttpKernel\TerminableInterface;
use Symfony\Component\Runtime\RunnerInterface;

/**
 * Serves one request after the other with one kernel, until the script has to end.
 *
 * What the kernel does after the response (terminate()) belongs to the same request: its failures are logged with that
 * request, and the request's time limit holds.
 */
final class Runner implements RunnerInterface
{
    public function __construct(private readonly HttpKernelInterface $kernel) {}

    public function run(): int
    {
        // What Dotenv added while the application booted; a request's own variables win.
        $booted = array_filter($_SERVER, static fn (string $name): bool => !str_starts_with($name, 'HTTP_'), ARRAY_FILTER_USE_KEY);
        $sessions = new Sessions();
        $one = function () use ($booted, $sessions): void {
            $_SERVER += $booted;
            $sessions->prepare();
            $request = Request::createFromGlobals();
            $response = $this->kernel->handle($request);
            $sessions->notice($request);
            $response->send();
            if ($this->kernel instanceof TerminableInterface) {
                \frankenphp_finish_request();
                $this->kernel->terminate($request, $response);
            }
        };
        while (\frankenphp_handle_request($one)) {
        }

        return 0;
    }
}

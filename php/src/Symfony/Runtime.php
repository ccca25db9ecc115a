<?php

declare(strict_types=1);

namespace Weft\Symfony;

use Symfony\Component\HttpKernel\HttpKernelInterface;
use Symfony\Component\Runtime\RunnerInterface;
use Symfony\Component\Runtime\SymfonyRuntime;

/**
 * Symfony's runtime with a runner for resident mode: APP_RUNTIME=Weft\Symfony\Runtime. In other modes it is Symfony's own.
 *
 * Symfony has such a runner itself from 7.4 on; this is for the versions before.
 */
final class Runtime extends SymfonyRuntime
{
    public function getRunner(?object $application): RunnerInterface
    {
        return $application instanceof HttpKernelInterface && function_exists('frankenphp_handle_request')
            ? new Runner($application)
            : parent::getRunner($application);
    }
}

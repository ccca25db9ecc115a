<?php

declare(strict_types=1);

use Illuminate\Contracts;
use Illuminate\Foundation\Application;

$app = new Application(dirname(__DIR__));
$app->singleton(Contracts\Http\Kernel::class, App\Http\Kernel::class);
$app->singleton(Contracts\Console\Kernel::class, App\Console\Kernel::class);
$app->singleton(Contracts\Debug\ExceptionHandler::class, App\Exceptions\Handler::class);

return $app;

<?php

declare(strict_types=1);

// For resident mode: starts the kernel through Symfony's runtime component, as vendor/autoload_runtime.php of a
// Composer project does.

use App\Kernel;
use Symfony\Component\Runtime\SymfonyRuntime;

require dirname(__DIR__) . '/autoload.php';
require_once 'Symfony/Component/Runtime/autoload.php';

$class = $_SERVER['APP_RUNTIME'] ?? SymfonyRuntime::class;
$runtime = new $class(['disable_dotenv' => true, 'env' => 'prod', 'debug' => false]);
[$application, $arguments] = $runtime->getResolver(static fn (): Kernel => new Kernel('prod', false))->resolve();

exit($runtime->getRunner($application(...$arguments))->run());

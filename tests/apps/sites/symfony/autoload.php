<?php

declare(strict_types=1);

// Debian's packages bring autoloaders of their own.
require_once 'Symfony/Bundle/FrameworkBundle/autoload.php';
require_once 'Symfony/Bundle/SecurityBundle/autoload.php';
require_once 'Symfony/Bundle/TwigBundle/autoload.php';
require_once 'Symfony/Bridge/Twig/autoload.php';
require_once 'Symfony/Component/Console/autoload.php';
require_once 'Symfony/Component/Form/autoload.php';
require_once 'Symfony/Component/Messenger/autoload.php';
require_once 'Symfony/Component/Messenger/Bridge/Doctrine/autoload.php';
require_once 'Symfony/Component/Mime/autoload.php';
require_once 'Symfony/Component/Security/Csrf/autoload.php';
require_once 'Symfony/Component/Translation/autoload.php';
require_once 'Symfony/Component/Validator/autoload.php';
require_once 'Doctrine/DBAL/autoload.php';
require_once 'Doctrine/Persistence/autoload.php';

// Symfony 6 asks Composer, which Debian's packages do not need.
if (!class_exists(Composer\InstalledVersions::class)) {
    require __DIR__ . '/installed.php';
}

spl_autoload_register(static function (string $class): void {
    $path = __DIR__ . '/src/' . strtr(substr($class, strlen('App\\')), '\\', '/') . '.php';
    if (str_starts_with($class, 'App\\') && is_file($path)) {
        require $path;
    }
});

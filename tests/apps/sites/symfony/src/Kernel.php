<?php

declare(strict_types=1);

namespace App;

use App\Message\CountWords;
use Doctrine\DBAL\Connection;
use Doctrine\DBAL\DriverManager;
use Symfony\Bundle\FrameworkBundle\FrameworkBundle;
use Symfony\Bundle\FrameworkBundle\Kernel\MicroKernelTrait;
use Symfony\Bundle\SecurityBundle\SecurityBundle;
use Symfony\Bundle\TwigBundle\TwigBundle;
use Symfony\Component\DependencyInjection\Loader\Configurator\ContainerConfigurator;
use Symfony\Component\HttpKernel\Kernel as BaseKernel;
use Symfony\Component\Messenger\Bridge\Doctrine\Transport\DoctrineTransportFactory;
use Symfony\Component\Routing\Loader\Configurator\RoutingConfigurator;
use Symfony\Component\Security\Core\User\PasswordAuthenticatedUserInterface;

use function Symfony\Component\DependencyInjection\Loader\Configurator\service;

final class Kernel extends BaseKernel
{
    use MicroKernelTrait;

    public function registerBundles(): iterable
    {
        return [new FrameworkBundle(), new TwigBundle(), new SecurityBundle()];
    }

    public function getProjectDir(): string
    {
        return dirname(__DIR__);
    }

    private function configureContainer(ContainerConfigurator $container): void
    {
        $site = require $this->getProjectDir() . '/site.php';
        $container->extension('framework', [
            'secret' => $site['secret'],
            'session' => [
                'handler_id' => null,
                'save_path' => '%kernel.project_dir%/var/sessions',
                'cookie_samesite' => 'lax',
                'storage_factory_id' => 'session.storage.factory.native',
            ],
            'csrf_protection' => true,
            'form' => true,
            'validation' => true,
            'messenger' => [
                'transports' => ['queue' => 'doctrine://default?auto_setup=false'],
                'routing' => [CountWords::class => 'queue'],
            ],
        ]);
        $container->extension('twig', ['default_path' => '%kernel.project_dir%/templates']);
        $container->extension('security', $this->security());
        $services = $container->services();
        $services->defaults()->autowire()->autoconfigure();
        $services->load('App\\', './')->exclude(['./Kernel.php', './Message/CountWords.php']);
        $services->set(Connection::class)->factory([DriverManager::class, 'getConnection'])->args([[
            'driver' => 'pdo_mysql',
            'host' => '127.0.0.1',
            'port' => $site['port'],
            'user' => 'root',
            'dbname' => $site['database'],
            'charset' => 'utf8mb4',
        ]])->public();
        $services->set(DoctrineTransportFactory::class)->args([service(Connections::class)])
            ->tag('messenger.transport_factory');
        $services->set(AskSlowServer::class)->arg('$upstream', $site['upstream']);
    }

    /** @return array<string, mixed> */
    private function security(): array
    {
        return [
            'enable_authenticator_manager' => true,
            'password_hashers' => [
                PasswordAuthenticatedUserInterface::class => ['algorithm' => 'bcrypt', 'cost' => 4],
            ],
            'providers' => ['users' => ['id' => Users::class]],
            'firewalls' => [
                'main' => [
                    'lazy' => true,
                    'form_login' => [
                        'login_path' => '/login',
                        'check_path' => '/login',
                        'enable_csrf' => true,
                        'csrf_parameter' => '_token',
                        'username_parameter' => 'name',
                        'password_parameter' => 'password',
                    ],
                    'logout' => ['path' => '/logout', 'target' => '/'],
                ],
            ],
            'access_control' => [['path' => '^/notes/new', 'roles' => 'ROLE_USER']],
        ];
    }

    private function configureRoutes(RoutingConfigurator $routes): void
    {
        $notes = Controller\NoteController::class;
        $routes->add('notes', '/')->controller([$notes, 'index']);
        $routes->add('login', '/login')->controller([Controller\LoginController::class, 'form']);
        $routes->add('logout', '/logout');
        $routes->add('new', '/notes/new')->controller([$notes, 'create']);
        $routes->add('note', '/notes/{id}')->controller([$notes, 'show'])->requirements(['id' => '\d+']);
        $routes->add('api', '/api/notes')->controller([$notes, 'api']);
        $routes->add('export', '/export')->controller([$notes, 'export']);
        $routes->add('boom', '/boom')->controller([$notes, 'boom']);
        $routes->add('old', '/old')->controller([$notes, 'old']);
    }
}

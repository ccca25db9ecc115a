<?php

declare(strict_types=1);

namespace Weft\Internal;

use Psr\Http\Message\MessageInterface;
use Psr\Http\Message\ResponseInterface;
use Psr\Http\Server\RequestHandlerInterface;
use Weft\Psr\Handler;

/**
 * What an application's script has returned, as a handler.
 *
 * @internal called by the server, once, when the application has booted
 */
final class Application
{
    /**
     * The handler itself, or one that translates if the handler speaks PSR-7. Types alone show whether it does: nothing is called.
     */
    public static function handler(mixed $returned): mixed
    {
        if ($returned instanceof \Weft\Application) {
            return Services::handler($returned);
        }
        if ($returned instanceof RequestHandlerInterface) {
            return new Handler($returned->handle(...));
        }

        return is_callable($returned) && self::speaksPsr7($returned) ? new Handler($returned) : $returned;
    }

    private static function speaksPsr7(callable $callable): bool
    {
        $function = new \ReflectionFunction($callable(...));
        $parameter = ($function->getParameters()[0] ?? null)?->getType();

        return self::isMessage($parameter) || self::isMessage($function->getReturnType());
    }

    private static function isMessage(?\ReflectionType $type): bool
    {
        if (!$type instanceof \ReflectionNamedType || $type->isBuiltin()) {
            return false;
        }
        $name = $type->getName();

        // @mago-expect analysis:impossible-type-comparison -- the name is a class's
        return $name === MessageInterface::class || is_subclass_of($name, MessageInterface::class) || $name === ResponseInterface::class;
    }
}

<?php

declare(strict_types=1);

namespace Weft\Psr;

use Psr\Http\Message\ServerRequestFactoryInterface;
use Psr\Http\Message\StreamFactoryInterface;
use Psr\Http\Message\UploadedFileFactoryInterface;
use Psr\Http\Message\UriFactoryInterface;

/** The PSR-17 factories that requests are made with: those given, or those of the PSR-7 implementation that is installed. */
final class Factories
{
    /** Implementations, in the order they are looked for: one class for all four, or a namespace with four. */
    private const ONE_CLASS = ['Nyholm\\Psr7\\Factory\\Psr17Factory', 'GuzzleHttp\\Psr7\\HttpFactory'];
    private const NAMESPACES = ['Slim\\Psr7\\Factory', 'Laminas\\Diactoros', 'HttpSoft\\Message'];

    public function __construct(
        public readonly ServerRequestFactoryInterface $requests,
        public readonly UriFactoryInterface $uris,
        public readonly StreamFactoryInterface $streams,
        public readonly UploadedFileFactoryInterface $files,
    ) {}

    /**
     * The factories of the first implementation that can be loaded: nyholm/psr7, guzzlehttp/psr7 from 2.0, slim/psr7, laminas-diactoros,
     * httpsoft/http-message.
     *
     * @throws \RuntimeException when there is none
     */
    public static function installed(): self
    {
        foreach (self::ONE_CLASS as $class) {
            if (class_exists($class)) {
                // @mago-expect analysis:ambiguous-instantiation-target -- each of them makes all four
                $factory = new $class();

                return new self($factory, $factory, $factory, $factory);
            }
        }
        foreach (self::NAMESPACES as $namespace) {
            if (class_exists("$namespace\\ServerRequestFactory")) {
                /** @var array{ServerRequestFactoryInterface, UriFactoryInterface, StreamFactoryInterface, UploadedFileFactoryInterface} $four */
                $four = array_map(
                    // @mago-expect analysis:unknown-class-instantiation -- class_exists() has just found the first of them
                    static fn (string $kind): object => new ("$namespace\\{$kind}Factory")(),
                    ['ServerRequest', 'Uri', 'Stream', 'UploadedFile'],
                );

                return new self(...$four);
            }
        }
        throw new \RuntimeException('The application speaks PSR-7, and no implementation was found: install one, for example with '
        . 'composer require nyholm/psr7, or return new Weft\\Psr\\Handler($handler, new Weft\\Psr\\Factories(...))');
    }
}

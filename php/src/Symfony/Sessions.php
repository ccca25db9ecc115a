<?php

declare(strict_types=1);

namespace Weft\Symfony;

use Symfony\Component\HttpFoundation\Request;
use Symfony\Component\HttpFoundation\Session\Session;
use Symfony\Component\HttpFoundation\Session\Storage\NativeSessionStorage;

/**
 * What Symfony's session storage set in PHP when it was made: settings and the save handler.
 *
 * PHP resets both between two requests, as it should; but before Symfony 6 the storage is made once and sets them once. So they
 * are set again.
 *
 * @internal
 */
final class Sessions
{
    private ?NativeSessionStorage $storage = null;

    /** @var array<string, ?string> settings by name */
    private array $settings = [];

    /** @var array<string, ?string> */
    private readonly array $booted;

    public function __construct()
    {
        $this->booted = self::current();
    }

    /** Sets them again before a request. */
    public function prepare(): void
    {
        if ($this->storage === null) {
            return;
        }
        foreach ($this->settings as $name => $value) {
            ini_set($name, (string) $value);
        }
        $this->storage->setSaveHandler($this->storage->getSaveHandler());
    }

    /** After a request: looks for the storage, once. */
    public function notice(Request $request): void
    {
        // @mago-ignore analysis:too-many-arguments -- Symfony 5.4 reads this one by func_get_arg()
        if ($this->storage !== null || !$request->hasSession(true)) {
            return;
        }
        $session = $request->getSession();
        // @mago-expect analysis:invalid-method-access -- Closure::call() gives the closure the session as its $this
        $storage = $session instanceof Session ? (fn () => $this->storage)->call($session) : null;
        if ($storage instanceof NativeSessionStorage) {
            $this->storage = $storage;
            $this->settings = array_diff_assoc(self::current(), $this->booted);
            // The handler itself is set as an object.
            unset($this->settings['session.save_handler']);
        }
    }

    /** @return array<string, ?string> */
    private static function current(): array
    {
        /** @var array<string, ?string>|false $settings */
        $settings = extension_loaded('session') ? ini_get_all('session', false) : [];

        return $settings ?: [];
    }
}

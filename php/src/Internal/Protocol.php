<?php

declare(strict_types=1);

namespace Weft\Internal;

use Weft\Tcp\Connection;

/**
 * A class that tells messages apart, with the three static methods of Workerman's protocols.
 *
 * Invariant: a message is as long as the class says, at most, and taken from the front.
 *
 * @internal
 */
final class Protocol
{
    /** @param class-string $class as Tcp\Framing::protocol() has checked it */
    public function __construct(private readonly string $class) {}

    /**
     * Takes the first message out of what has arrived; null when it is not complete. A connection with bytes that are no message is
     * closed.
     *
     * @param-out int $wanted how many bytes there must be until it is worth to ask again
     */
    public function take(string &$buffer, Connection $connection, int &$wanted = 0): ?string
    {
        $wanted = strlen($buffer) + 1;
        if ($buffer === '') {
            return null;
        }
        $length = $this->class::input($buffer, $connection);
        if ($length === false || !is_int($length) || $length < 0) {
            $buffer = '';
            $connection->close();

            return null;
        }
        if ($length === 0 || $length > strlen($buffer)) {
            $wanted = max($wanted, $length);

            return null;
        }
        $frame = substr($buffer, 0, $length);
        $buffer = substr($buffer, $length);

        return (string) $this->class::decode($frame, $connection);
    }

    /** The frame of a message. */
    public function encode(string $message, Connection $connection): string
    {
        return (string) $this->class::encode($message, $connection);
    }
}

<?php

declare(strict_types=1);

namespace Weft\Tcp;

/**
 * Where a message of a TCP connection ends and the next begins. A message is what service and client exchange; its frame is added
 * and removed by the server.
 */
final class Framing
{
    private const RAW = 0;
    private const DELIMITER = 1;
    private const LENGTH = 2;
    private const PROTOCOL = 3;
    private const DELIMITER_BYTES_MAX = 255;

    private function __construct(
        /** @internal */
        public readonly int $kind,
        /** @internal */
        public readonly string $delimiter = '',
        /** @internal */
        public readonly int $prefixBytes = 0,
        /** @internal */
        public readonly bool $littleEndian = false,
        /** @internal */
        public readonly bool $inclusive = false,
        /** @internal @var ?class-string */
        public readonly ?string $protocol = null,
    ) {}

    /** None: what arrives at one time is a message. The bytes of a client may be cut anywhere. */
    public static function raw(): self
    {
        return new self(self::RAW);
    }

    /**
     * Each message ends with these bytes, which are not part of it.
     *
     * @param string $delimiter 1 to 255 bytes: "\n", for example
     * @throws \ValueError
     */
    public static function delimiter(string $delimiter): self
    {
        if ($delimiter === '' || strlen($delimiter) > self::DELIMITER_BYTES_MAX) {
            throw new \ValueError('A delimiter has 1 to 255 bytes');
        }

        return new self(self::DELIMITER, $delimiter);
    }

    /**
     * Before each message is its length in bytes.
     *
     * @param int $bytes of the length: 1, 2, 4 or 8
     * @param bool $littleEndian whether its last byte is the most significant one; network byte order has it first
     * @param bool $inclusive whether the length counts its own bytes, too
     * @throws \ValueError
     */
    public static function length(int $bytes = 4, bool $littleEndian = false, bool $inclusive = false): self
    {
        if (!in_array($bytes, [1, 2, 4, 8], true)) {
            throw new \ValueError("The length before a message has 1, 2, 4 or 8 bytes, not $bytes");
        }

        return new self(self::LENGTH, '', $bytes, $littleEndian, $inclusive);
    }

    /**
     * A class with the three static methods that a protocol of Workerman has:
     *
     * - input(string $buffer, Connection $connection): the length of the first message with its frame; 0 when more bytes are needed
     *   to tell; less than 0, or false, when what has arrived is no message, and the connection is to be closed
     * - decode(string $frame, Connection $connection): the message in a frame
     * - encode(string $message, Connection $connection): the frame of a message
     *
     * @param class-string $class
     * @throws \ValueError when it does not have them
     */
    public static function protocol(string $class): self
    {
        foreach (['input', 'decode', 'encode'] as $method) {
            if (!method_exists($class, $method) || !(new \ReflectionMethod($class, $method))->isStatic()) {
                throw new \ValueError("$class is no protocol: it has no static method $method()");
            }
        }

        return new self(self::PROTOCOL, protocol: $class);
    }
}

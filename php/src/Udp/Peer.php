<?php

declare(strict_types=1);

namespace Weft\Udp;

use Weft\Internal;

/**
 * Who has sent a datagram, and at which address of the server it arrived.
 *
 * This is a value: it may be kept, stored, and used later and in any worker. UDP knows no connection, so nobody can tell whether
 * there is still somebody.
 */
final class Peer
{
    private const BYTES_MAX = 65_507;

    /** @param string $id its name, the same for each datagram of this sender to this address */
    public function __construct(
        public readonly string $id,
    ) {}

    /** The address of the sender, with its port: "192.0.2.7:50123" or "[2001:db8::7]:50123". */
    public function address(): string
    {
        return explode(' ', $this->id, 3)[1] ?? '';
    }

    /**
     * Sends a datagram from the address at which the peer's own arrived, also where the server listens at all. It never waits.
     *
     * @param string $message 0 to 65,507 bytes; what is longer than the path allows, some 1,400, travels in fragments
     * @return bool false when it is lost already: too many wait to be sent
     * @throws \ValueError when it is too long
     */
    public function send(string $message): bool
    {
        if (strlen($message) > self::BYTES_MAX) {
            throw new \ValueError('A datagram has at most 65,507 bytes, not ' . strlen($message));
        }

        return Internal\websocket_send($this->id, $message, true, '');
    }
}

<?php

declare(strict_types=1);

namespace Weft\WebSocket;

use Weft\Http\Request;
use Weft\Http\Response;

/**
 * Who may connect, and what becomes of clients that do not keep up: what a Service and a Conversation have in common.
 *
 * Extend one of these two.
 */
abstract class Endpoint
{
    /**
     * Decides about a connection before it exists. The handshake is valid, and its origin allowed.
     *
     * @return Accept|Response|bool true accepts; false refuses with 403; a Response refuses with any status but 101
     */
    public function authorise(Request $request): Accept|Response|bool
    {
        return true;
    }

    /**
     * The other origins whose pages may connect, as browsers send them: "https://example.com"; "*" for all. Asked once, at the
     * boot. Pages of the host itself and clients that are no browsers always may; the others get 403.
     *
     * @return list<string>
     */
    public function origins(): array
    {
        return [];
    }

    /** What becomes of messages for a client that does not keep up. Asked once, at the boot. */
    public function overflow(): Overflow
    {
        return Overflow::Close;
    }
}

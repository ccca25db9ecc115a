<?php

declare(strict_types=1);

namespace Popup\Web;

use Weft\Http\Request;
use Weft\Http\Response;

/**
 * Access to the admin page, for clients that have sent the token within the last hours.
 *
 * The cookie says until when and is signed: nothing is stored, all workers and hosts with the same secret agree. Forms
 * carry a second signature of it (CSRF): another site can have the browser send the cookie, but cannot know that.
 */
final class Session
{
    private const COOKIE = 'popup_admin';

    private const LIFE_S = 12 * 3_600;

    /** How long an answer to a wrong token takes, in microseconds; waiting costs the worker nothing. */
    private const PENALTY_US = 500_000;

    public function __construct(
        #[\SensitiveParameter] private readonly string $token,
        #[\SensitiveParameter] private readonly string $secret,
    ) {}

    /** Whether the token is the right one. */
    public function accepts(#[\SensitiveParameter] string $token): bool
    {
        // Hashed first, so that the comparison does not reveal the length either.
        if (hash_equals(hash('sha256', $this->token), hash('sha256', $token))) {
            return true;
        }
        usleep(self::PENALTY_US);

        return false;
    }

    public function open(Request $request, Response $response): Response
    {
        $name = (time() + self::LIFE_S) . '.' . bin2hex(random_bytes(8));

        return $this->cookie($request, $response, "$name." . $this->sign("session $name"), self::LIFE_S);
    }

    public function close(Request $request, Response $response): Response
    {
        return $this->cookie($request, $response, '', 0);
    }

    /** The form token of the session that the request belongs to; null if there is none. */
    public function csrf(Request $request): ?string
    {
        [$until, $random, $signature] = explode('.', (string) $request->cookie(self::COOKIE, ''), 3) + ['', '', ''];
        if (!hash_equals($this->sign("session $until.$random"), $signature) || (int) $until < time()) {
            return null;
        }

        return $this->sign("form $until.$random");
    }

    private function sign(string $what): string
    {
        return hash_hmac('sha256', $what, $this->secret . $this->token);
    }

    private function cookie(Request $request, Response $response, string $value, int $life_s): Response
    {
        $isSecure = $request->scheme() === 'https';

        return $response->setCookie(self::COOKIE, $value, $life_s, '/admin', secure: $isSecure, sameSite: 'Strict');
    }
}

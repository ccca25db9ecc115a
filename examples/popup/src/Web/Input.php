<?php

declare(strict_types=1);

namespace Popup\Web;

use Popup\Operation;
use Popup\Rules\Visitor;
use Weft\Http\Request;

/**
 * Turns a client's JSON into values the service can rely on. What passes is safe to put into records and statements.
 */
final class Input
{
    private const BODY_BYTES_MAX = 4_096;

    public const USER = '/^[A-Za-z0-9._:@-]{1,64}$/D';

    public const PLATFORM = '/^[a-z0-9]{1,16}$/D';

    public const VERSION = '/^\d{1,6}(\.\d{1,6}){0,3}$/D';

    private const DISPLAY = '/^[a-z0-9]{1,40}~[1-9][0-9]{0,9}~[A-Za-z0-9._:@-]{1,64}~[a-f0-9]{20}$/D';

    /** @return array<string, mixed> the fields of the body */
    public static function fields(Request $request): array
    {
        $body = $request->body();
        if (strlen($body) > self::BODY_BYTES_MAX) {
            throw new Problem(413, 'too_large', 'The body has at most ' . self::BODY_BYTES_MAX . ' bytes');
        }
        $fields = json_decode($body, true, 8);
        if (!is_array($fields) || ($fields !== [] && array_is_list($fields)) || ($fields === [] && !str_starts_with(ltrim($body), '{'))) {
            $reason = json_last_error() === JSON_ERROR_NONE ? 'it is no object' : json_last_error_msg();
            throw new Problem(400, 'invalid_json', "The body must be a JSON object: $reason");
        }

        return $fields;
    }

    /** @param array<string, mixed> $fields */
    public static function visitor(array $fields): Visitor
    {
        $platform = $fields['platform'] ?? null;
        $version = $fields['version'] ?? null;
        if ($platform !== null && (!is_string($platform) || !preg_match(self::PLATFORM, $platform))) {
            throw Problem::field('platform', 'platform is 1 to 16 of a-z and 0-9, as "ios"; leave it out if there is none');
        }
        if ($version !== null && (!is_string($version) || !preg_match(self::VERSION, $version))) {
            throw Problem::field('version', 'version is one to four numbers with dots, as "5.2.1"; leave it out if there is none');
        }

        $user = $fields['user'] ?? null;
        if (!is_string($user) || !preg_match(self::USER, $user)) {
            throw Problem::field('user', 'user is a text of 1 to 64 of A-Z a-z 0-9 . _ : @ -');
        }

        return new Visitor($user, $platform, $version);
    }

    /** @param array<string, mixed> $fields */
    public static function display(array $fields): string
    {
        $display = $fields['display'] ?? null;
        if (!is_string($display) || !preg_match(self::DISPLAY, $display)) {
            throw Problem::field('display', 'display is the text that came with the pop-up');
        }

        return $display;
    }

    /** @param array<string, mixed> $fields */
    public static function operation(array $fields): Operation
    {
        $name = $fields['operation'] ?? null;

        return (
            (is_string($name) ? Operation::reported($name) : null) ?? throw Problem::field(
                'operation',
                'operation is shown, clicked or closed',
            )
        );
    }
}

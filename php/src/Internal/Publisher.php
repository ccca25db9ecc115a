<?php

declare(strict_types=1);

namespace Weft\Internal;

use Weft\PublishException;

/**
 * Publishes to another server, over an address for its operator. Its waits park, as those of any client.
 *
 * @internal
 */
final class Publisher
{
    /** How long the server may take to accept the connection, and for its answer. */
    private const TIMEOUT_S = 10.0;

    /**
     * @param string $address as in --listen: "admin+unix:/path" or "admin://HOST:PORT"
     * @param string $except the ids of the connections that do not get it, with a space in between
     * @param string $key what the message tells the state of
     * @return string the message's id
     * @throws \ValueError for a topic or a message that cannot be published
     * @throws PublishException when the server is not found, or refuses
     */
    public static function publish(string $address, string $topic, string $message, bool $binary, string $except, string $key): string
    {
        $query = http_build_query(['topic' => $topic, 'except' => $except, 'key' => $key]);
        [$status, $body] = self::ask($address, self::request($query, $message, $binary));
        $id = $status === 200 ? json_decode($body, true)['id'] ?? null : null;
        if (is_string($id)) {
            return $id;
        }
        throw match ($status) {
            400, 413 => new \ValueError(trim($body)),
            401 => new PublishException(
                "$address wants a token: set topics.publish_token, or WEFT_TOPICS_PUBLISH_TOKEN, to its admin.token",
            ),
            default => new PublishException("$address has refused a message to \"$topic\": " . trim($body)),
        };
    }

    private static function request(string $query, string $message, bool $binary): string
    {
        $token = getenv('WEFT_TOPICS_PUBLISH_TOKEN');
        $lines = [
            "POST /publish?$query HTTP/1.1",
            'Host: weft',
            'Connection: close',
            'Content-Type: ' . ($binary ? 'application/octet-stream' : 'text/plain; charset=utf-8'),
            'Content-Length: ' . strlen($message),
        ];
        if (is_string($token) && $token !== '') {
            $lines[] = "Authorization: Bearer $token";
        }

        return implode("\r\n", $lines) . "\r\n\r\n" . $message;
    }

    /** @return array{int, string} status and body */
    private static function ask(string $address, string $request): array
    {
        $target = match (true) {
            str_starts_with($address, 'admin+unix:') => 'unix://' . explode(',mode=', substr($address, 11))[0],
            str_starts_with($address, 'admin://') => 'tcp://' . rtrim(substr($address, 8), '/'),
            default => throw new PublishException("WEFT_TOPICS_PUBLISH_TO is \"$address\": write admin+unix:/path or admin://HOST:PORT"),
        };
        $stream = @stream_socket_client($target, $number, $why, self::TIMEOUT_S);
        if ($stream === false) {
            throw new PublishException("No server to publish to at $address: $why");
        }
        stream_set_timeout($stream, (int) self::TIMEOUT_S);
        // A server that refuses a message may answer before it has all of it.
        @fwrite($stream, $request);
        $answer = (string) stream_get_contents($stream);
        fclose($stream);
        if (preg_match('/^HTTP\/1\.1 (\d{3}) .*?\r\n\r\n(.*)$/sD', $answer, $found) !== 1) {
            throw new PublishException("$address has not answered within 10 s, or not in HTTP");
        }

        return [(int) $found[1], $found[2]];
    }
}

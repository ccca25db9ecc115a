<?php

declare(strict_types=1);

namespace Popup\Web;

use Weft\Http\Response;

/** What is wrong with a request or with the service, in a form that a client can act on. */
final class Problem extends \RuntimeException
{
    /**
     * @param int $status 400 to 599
     * @param string $name for programs: words with underscores
     * @param string $message for people: what is wrong and what is right
     * @param string|null $field the field of the body that is meant
     * @param array<string, string> $headers
     */
    public function __construct(
        private readonly int $status,
        private readonly string $name,
        string $message,
        private readonly ?string $field = null,
        private readonly array $headers = [],
    ) {
        parent::__construct($message);
    }

    /** A temporary problem: the client should try again. */
    public static function unavailable(string $message): self
    {
        return new self(503, 'unavailable', $message, null, ['Retry-After' => '1']);
    }

    public static function field(string $field, string $message): self
    {
        return new self(422, 'invalid_field', $message, $field);
    }

    public function response(): Response
    {
        $error = ['code' => $this->name, 'message' => $this->getMessage()];
        $response = Response::json(['error' => $this->field === null ? $error : $error + ['field' => $this->field]], $this->status);
        foreach ($this->headers as $name => $value) {
            $response->setHeader($name, $value);
        }

        return $response;
    }
}

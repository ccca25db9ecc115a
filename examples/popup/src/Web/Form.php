<?php

declare(strict_types=1);

namespace Popup\Web;

use Popup\Rules\Audience;
use Popup\Rules\Configuration;

/**
 * The form of a configuration: from a configuration to fields of text, and back.
 *
 * Invariant: what configuration() returns is valid; otherwise errors() says what is not, field by field.
 */
final class Form
{
    public const FIELDS = [
        'title',
        'body',
        'url',
        'priority',
        'from',
        'until',
        'interval_h',
        'percentage',
        'users',
        'platforms',
        'version_min',
        'version_max',
    ];

    private const USERS_MAX = 10_000;

    private const TIME = 'Y-m-d\TH:i';

    /** @var array<string, string> */
    private array $errors = [];

    /** @param array<string, string> $values */
    private function __construct(public readonly array $values) {}

    /** @param array<string, mixed> $sent what a browser has sent */
    public static function sent(array $sent): self
    {
        $values = [];
        foreach (self::FIELDS as $field) {
            $value = $sent[$field] ?? '';
            $values[$field] = is_string($value) ? trim(str_replace("\r\n", "\n", $value)) : '';
        }

        return new self($values);
    }

    public static function of(Configuration $configuration): self
    {
        $time = static fn (?int $at): string => $at === null ? '' : gmdate(self::TIME, $at);
        $audience = $configuration->audience;

        return new self([
            'title' => $configuration->title,
            'body' => $configuration->body,
            'url' => $configuration->url,
            'priority' => (string) $configuration->priority,
            'from' => $time($configuration->from),
            'until' => $time($configuration->until),
            'interval_h' => (string) round($configuration->interval_s / 3_600, 4),
            'percentage' => (string) $audience->percentage,
            'users' => implode("\n", $audience->users()),
            'platforms' => implode(' ', $audience->platforms()),
            'version_min' => (string) $audience->versionMin,
            'version_max' => (string) $audience->versionMax,
        ]);
    }

    /** @return array<string, string> field to what is wrong with it */
    public function errors(): array
    {
        return $this->errors;
    }

    /** What the fields describe; null if something is wrong with them. */
    public function configuration(int $id, bool $paused): ?Configuration
    {
        $this->errors = [];
        $from = $this->time('from');
        $until = $this->time('until');
        if ($from !== null && $until !== null && $until <= $from) {
            $this->errors['until'] = 'It must end after it begins';
        }
        $percentage = $this->number('percentage', 0, 100);
        $audience = new Audience(
            round($percentage, 2),
            $this->words('users', Input::USER, self::USERS_MAX),
            $this->words('platforms', Input::PLATFORM, 20),
            $this->version('version_min'),
            $this->version('version_max'),
        );
        $title = $this->text('title', 1, 200);
        $body = $this->text('body', 0, 2_000);
        $configuration = new Configuration(
            $id,
            $title,
            $body,
            $this->url(),
            (int) $this->number('priority', -1_000, 1_000),
            $paused,
            $from,
            $until,
            max(1, (int) round($this->number('interval_h', 1 / 3_600, 8_760) * 3_600)),
            $audience,
        );

        return $this->errors === [] ? $configuration : null;
    }

    private function text(string $field, int $min, int $max): string
    {
        $value = $this->values[$field];
        if (preg_match('//u', $value) !== 1 || str_contains($value, "\0")) {
            $this->errors[$field] = 'This is no text in UTF-8';

            return '';
        }
        $length = (int) preg_match_all('/./su', $value, $characters);
        if ($length < $min || $length > $max) {
            $this->errors[$field] = "It needs $min to $max characters, and has $length";
        }

        return $value;
    }

    private function url(): string
    {
        $value = $this->text('url', 1, 2_000);
        // Nothing but addresses: no javascript:, and no // that leads to another site unseen.
        if (!preg_match('~^(https?://[^\s/]|/(?!/))\S*$~D', $value)) {
            $this->errors['url'] = 'An address begins with https://, http:// or /, and has no spaces';
        }

        return $value;
    }

    private function number(string $field, float $min, float $max): float
    {
        $value = filter_var($this->values[$field], FILTER_VALIDATE_FLOAT);
        if ($value === false || $value < $min || $value > $max) {
            $this->errors[$field] = sprintf('It needs a number from %s to %s', round($min, 4), $max);

            return $max;
        }

        return $value;
    }

    private function time(string $field): ?int
    {
        if ($this->values[$field] === '') {
            return null;
        }
        $time = \DateTimeImmutable::createFromFormat('!' . self::TIME, substr($this->values[$field], 0, 16), new \DateTimeZone('UTC'));
        if ($time === false || $time->getTimestamp() < 0 || (int) $time->format('Y') > 2_100) {
            $this->errors[$field] = 'It needs a date and a time, as 2030-01-31T18:00, in UTC';

            return null;
        }

        return $time->getTimestamp();
    }

    private function version(string $field): ?string
    {
        $value = $this->values[$field];
        if ($value !== '' && !preg_match(Input::VERSION, $value)) {
            $this->errors[$field] = 'It needs one to four numbers with dots, as 5.2.1';
        }

        return $value === '' ? null : $value;
    }

    /** @return list<string> */
    private function words(string $field, string $pattern, int $max): array
    {
        $words = preg_split('/[\s,]+/', $this->values[$field], -1, PREG_SPLIT_NO_EMPTY) ?: [];
        $wrong = array_filter($words, static fn (string $word): bool => preg_match($pattern, $word) !== 1);
        if ($wrong !== []) {
            $this->errors[$field] = '"' . reset($wrong) . '" is not allowed here';
        } elseif (count($words) > $max) {
            $this->errors[$field] = "There may be $max of them, not " . count($words);
        }

        return $wrong === [] ? array_values(array_unique($words)) : [];
    }
}

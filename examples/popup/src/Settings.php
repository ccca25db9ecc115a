<?php

declare(strict_types=1);

namespace Popup;

/**
 * The settings, from the environment. With the defaults the service runs by itself.
 *
 * | variable | default | meaning |
 * |---|---|---|
 * | POPUP_DATA | data/ beside the application | directory for everything the service keeps |
 * | POPUP_DATABASE | SQLite in POPUP_DATA | a PDO DSN, as mysql:host=127.0.0.1;dbname=popup |
 * | POPUP_DATABASE_USER, POPUP_DATABASE_PASSWORD | none | for MariaDB and MySQL |
 * | POPUP_REDIS | none: embedded | host:port or a socket's path; needed as soon as there are two hosts |
 * | POPUP_QUEUE | redis with POPUP_REDIS, otherwise files | files: operations wait on this host's disk, and Redis need not sync |
 * | POPUP_ADMIN_TOKEN | made at random in POPUP_DATA/admin-token | opens the admin page |
 * | POPUP_SECRET | made at random in POPUP_DATA | signs pop-ups and sessions; the same on all hosts |
 * | POPUP_DEMO | none | 1: some configurations to begin with, if there are none |
 * | POPUP_STEP | keepalive | how far to go: naive, queue, cache, pool, keepalive (docs/guide/popup.md) |
 * | POPUP_CLOCK | none | a file with seconds that the clock is ahead; for tests |
 */
final class Settings
{
    /** Each step keeps what the ones before it brought. */
    private const STEPS = ['naive', 'queue', 'cache', 'pool', 'keepalive'];

    private function __construct(
        public readonly string $data,
        public readonly string $database,
        public readonly ?string $databaseUser,
        #[\SensitiveParameter] public readonly ?string $databasePassword,
        public readonly ?string $redis,
        public readonly bool $queuesInFiles,
        public readonly ?string $clock,
        public readonly bool $hasDemo,
        #[\SensitiveParameter] private readonly ?string $adminToken,
        #[\SensitiveParameter] private readonly ?string $secret,
        private readonly int $step,
    ) {}

    /** @param array<string, string> $environment as getenv() gives it */
    public static function from(array $environment): self
    {
        $get = static fn (string $name): ?string => ($environment[$name] ?? '') === '' ? null : $environment[$name];
        $data = rtrim($get('POPUP_DATA') ?? dirname(__DIR__) . '/data', '/');
        $name = $get('POPUP_STEP') ?? 'keepalive';
        $step = array_search($name, self::STEPS, true);
        if ($step === false) {
            throw new \InvalidArgumentException('POPUP_STEP is one of ' . implode(', ', self::STEPS) . "; it is \"$name\"");
        }
        $database = $get('POPUP_DATABASE') ?? "sqlite:$data/popup.sqlite";
        if (!preg_match('/^(sqlite|mysql):/', $database)) {
            throw new \InvalidArgumentException("POPUP_DATABASE begins with sqlite: or mysql:; it is \"$database\"");
        }
        $redis = $get('POPUP_REDIS');
        $queue = $get('POPUP_QUEUE') ?? ($redis === null ? 'files' : 'redis');
        if ($queue !== 'files' && ($queue !== 'redis' || $redis === null)) {
            throw new \InvalidArgumentException("POPUP_QUEUE is files, or redis if there is POPUP_REDIS; it is \"$queue\"");
        }

        return new self(
            $data,
            $database,
            $get('POPUP_DATABASE_USER'),
            $get('POPUP_DATABASE_PASSWORD'),
            $redis,
            $queue === 'files',
            $get('POPUP_CLOCK'),
            $get('POPUP_DEMO') === '1',
            $get('POPUP_ADMIN_TOKEN'),
            $get('POPUP_SECRET'),
            $step,
        );
    }

    /** Operations are written behind; before that, by the request itself. */
    public function hasQueue(): bool
    {
        return $this->step >= 1;
    }

    /** Configurations and users' states are held in memory; before that, each request asks the database. */
    public function hasCache(): bool
    {
        return $this->step >= 2;
    }

    /** Connections are kept; before that, each use opens one. */
    public function hasPool(): bool
    {
        return $this->step >= 3;
    }

    /** Clients' connections are kept; before that, each response closes its own. */
    public function hasKeepAlive(): bool
    {
        return $this->step >= 4;
    }

    /** A directory below POPUP_DATA, made if it is missing. */
    public function directory(string $name = ''): string
    {
        $path = rtrim("{$this->data}/$name", '/');
        if (!is_dir($path) && !@mkdir($path, 0o750, true) && !is_dir($path)) {
            throw new \RuntimeException("Cannot make the directory $path: set POPUP_DATA to one that can be written");
        }

        return $path;
    }

    public function adminToken(): string
    {
        return $this->adminToken ?? $this->kept('admin-token');
    }

    /** A secret for one purpose: nothing that is signed for one is valid for another. */
    public function secret(string $purpose): string
    {
        return hash_hmac('sha256', $purpose, $this->secret ?? $this->kept('secret'));
    }

    /** A secret made by whichever process asks first, and kept in a file that only this user reads. */
    private function kept(string $name): string
    {
        $path = $this->directory() . "/$name";
        $made = @fopen("$path." . bin2hex(random_bytes(4)), 'xb');
        if ($made !== false) {
            $new = stream_get_meta_data($made)['uri'];
            chmod($new, 0o600);
            fwrite($made, bin2hex(random_bytes(16)));
            fclose($made);
            @link($new, $path); // fails if another process was first: then that one counts
            unlink($new);
        }
        $secret = @file_get_contents($path);

        return is_string($secret) && $secret !== '' ? $secret : throw new \RuntimeException("Cannot make the secret $path");
    }
}

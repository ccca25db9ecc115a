<?php

declare(strict_types=1);

namespace Weft\Http;

/** A file that came with a form. It is deleted when the request ends, unless it was moved. */
final class UploadedFile
{
    private bool $moved = false;

    private function __construct(
        private readonly string $name,
        private readonly string $type,
        private readonly int $size,
        private readonly string $path,
        private readonly int $error,
    ) {}

    /**
     * Makes objects of what $_FILES holds, several files of one field as a list.
     *
     * @internal called by the server
     *
     * @param array<string, array> $files
     *
     * @return array<string, self|array>
     */
    public static function fromGlobals(array $files): array
    {
        return array_map(static fn (array $file) => self::tree(
            $file['name'],
            $file['type'],
            $file['size'],
            $file['tmp_name'],
            $file['error'],
        ), $files);
    }

    private static function tree(mixed $name, mixed $type, mixed $size, mixed $path, mixed $error): self|array
    {
        if (!is_array($error)) {
            return new self($name, $type, $size, $path, $error);
        }
        $tree = [];
        foreach (array_keys($error) as $key) {
            $tree[$key] = self::tree($name[$key], $type[$key], $size[$key], $path[$key], $error[$key]);
        }

        return $tree;
    }

    /** The name the client gave. The client may claim anything: do not use it as a path. */
    public function name(): string
    {
        return $this->name;
    }

    /** The media type the client gave. */
    public function type(): string
    {
        return $this->type;
    }

    /** The size in bytes. */
    public function size(): int
    {
        return $this->size;
    }

    /** The temporary path; the file stays there until the request ends. */
    public function path(): string
    {
        return $this->path;
    }

    /** One of PHP's UPLOAD_ERR_* constants; UPLOAD_ERR_OK (0) when the upload succeeded. */
    public function error(): int
    {
        return $this->error;
    }

    /**
     * Keeps the file under another path.
     *
     * @throws \RuntimeException when it has not arrived, was moved before, or cannot be written there
     */
    public function moveTo(string $path): void
    {
        if ($this->error !== UPLOAD_ERR_OK) {
            throw new \RuntimeException("\"{$this->name}\" was not uploaded (error {$this->error})");
        }
        if ($this->moved) {
            throw new \RuntimeException("\"{$this->name}\" has been moved already");
        }
        if (!@move_uploaded_file($this->path, $path)) {
            throw new \RuntimeException(
                "\"{$this->name}\" cannot be written to $path: " . (error_get_last()['message'] ?? 'unknown reason'),
            );
        }
        $this->moved = true;
    }
}

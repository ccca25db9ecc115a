<?php

declare(strict_types=1);

namespace App\Message;

final class CountWords
{
    public function __construct(public readonly int $note)
    {
    }
}

<?php

declare(strict_types=1);

namespace App\Jobs;

use App\Models\Note;
use Illuminate\Bus\Queueable;
use Illuminate\Contracts\Queue\ShouldQueue;
use Illuminate\Foundation\Bus\Dispatchable;
use Illuminate\Queue\InteractsWithQueue;

final class CountWords implements ShouldQueue
{
    use Dispatchable;
    use InteractsWithQueue;
    use Queueable;

    public function __construct(private int $note)
    {
    }

    public function handle(): void
    {
        $note = Note::query()->findOrFail($this->note);
        $note->update(['words' => count(preg_split('/\s+/', $note->text))]);
    }
}

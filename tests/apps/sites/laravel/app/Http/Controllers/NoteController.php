<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use App\Jobs\CountWords;
use App\Models\Note;
use Illuminate\Http\JsonResponse;
use Illuminate\Http\RedirectResponse;
use Illuminate\Http\Request;
use Illuminate\Routing\Controller;
use Illuminate\Support\Facades\Auth;
use Illuminate\View\View;
use Symfony\Component\HttpFoundation\StreamedResponse;

final class NoteController extends Controller
{
    public function index(Request $request): View
    {
        $request->session()->increment('visits');

        return view('notes', ['notes' => Note::with('author')->orderBy('id')->get()]);
    }

    public function create(): View
    {
        return view('new');
    }

    public function store(Request $request): RedirectResponse
    {
        $valid = $request->validate([
            'title' => 'required|min:3|max:80',
            'text' => 'required',
            'picture' => 'nullable|image|max:4096',
        ]);
        $note = new Note(['title' => $valid['title'], 'text' => $valid['text'], 'user_id' => Auth::id()]);
        if ($request->hasFile('picture')) {
            $note->picture = sha1_file($request->file('picture')->path()) . '.png';
            $request->file('picture')->move(public_path('pictures'), $note->picture);
        }
        $note->save();
        CountWords::dispatch($note->id);

        return redirect("/notes/{$note->id}")->with('said', "“{$note->title}” is kept.");
    }

    public function show(Note $note): View
    {
        return view('note', ['note' => $note]);
    }

    public function api(): JsonResponse
    {
        return response()->json(Note::query()->orderBy('id')->get(['id', 'title', 'text', 'words']));
    }

    public function export(): StreamedResponse
    {
        return response()->streamDownload(static function (): void {
            $to = fopen('php://output', 'w');
            foreach (Note::query()->orderBy('id')->cursor() as $note) {
                fputcsv($to, [$note->id, $note->title, $note->text]);
                flush();
            }
        }, 'notes.csv', ['Content-Type' => 'text/csv']);
    }
}

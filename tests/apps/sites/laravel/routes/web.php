<?php

declare(strict_types=1);

use App\Http\Controllers\LoginController;
use App\Http\Controllers\NoteController;
use Illuminate\Support\Facades\Route;

Route::get('/', [NoteController::class, 'index']);
Route::get('/login', [LoginController::class, 'form'])->name('login');
Route::post('/login', [LoginController::class, 'login']);
Route::post('/logout', [LoginController::class, 'logout']);
Route::get('/notes/new', [NoteController::class, 'create'])->middleware('auth');
Route::post('/notes/new', [NoteController::class, 'store'])->middleware('auth');
Route::get('/notes/{note}', [NoteController::class, 'show'])->whereNumber('note');
Route::get('/api/notes', [NoteController::class, 'api']);
Route::get('/export', [NoteController::class, 'export']);
Route::get('/boom', static fn () => throw new RuntimeException('Something broke.'));
Route::get('/old', static fn () => abort(410));

@extends('page')
@section('title', $note->title)
@section('content')
<p class="text">{{ $note->text }}</p>
<p class="words">{{ $note->words === null ? 'not counted yet' : $note->words . ' words' }}</p>
@if ($note->picture)<img src="/pictures/{{ $note->picture }}" alt="">@endif
@endsection

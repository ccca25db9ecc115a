@extends('page')
@section('title', 'Notes')
@section('content')
<p>Visit {{ session('visits') }}; <a href="/notes/new">write one</a></p>
<ul>
@forelse ($notes as $note)
<li><a href="/notes/{{ $note->id }}">{{ $note->title }}</a></li>
@empty
<li>None yet.</li>
@endforelse
</ul>
@endsection

@extends('page')
@section('title', 'A new note')
@section('content')
<form method="post" enctype="multipart/form-data">
@csrf
@foreach ($errors->all() as $error)<p class="error">{{ $error }}</p>@endforeach
<input name="title" value="{{ old('title') }}">
<textarea name="text">{{ old('text') }}</textarea>
<input type="file" name="picture">
<button id="keep">Keep</button>
</form>
@endsection

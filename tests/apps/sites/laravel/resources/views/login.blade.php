@extends('page')
@section('title', 'Log in')
@section('content')
<form method="post">
@csrf
@error('name')<p class="error">{{ $message }}</p>@enderror
<input name="name" value="{{ old('name') }}">
<input name="password" type="password">
<button id="login">Log in</button>
</form>
@endsection

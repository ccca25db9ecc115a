<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>@yield('title')</title></head>
<body>
<h1>@yield('title')</h1>
@if (session('said'))<p class="said">{{ session('said') }}</p>@endif
@yield('content')
<footer>
@auth <p class="user">{{ Auth::user()->name }}</p>
<form method="post" action="/logout">@csrf<button id="logout">Log out</button></form>
@else <p><a href="/login">Log in</a></p> @endauth
@if (($visitor ?? '') !== '')<p class="visitor">for {{ $visitor }}</p>@endif
</footer>
</body>
</html>

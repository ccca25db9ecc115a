<?php

declare(strict_types=1);

namespace App\Http\Controllers;

use Illuminate\Http\RedirectResponse;
use Illuminate\Http\Request;
use Illuminate\Routing\Controller;
use Illuminate\Support\Facades\Auth;
use Illuminate\View\View;

final class LoginController extends Controller
{
    public function form(): View
    {
        return view('login');
    }

    public function login(Request $request): RedirectResponse
    {
        $given = $request->validate(['name' => 'required', 'password' => 'required']);
        if (!Auth::attempt($given)) {
            return back()->withErrors(['name' => 'That is not the password.'])->onlyInput('name');
        }
        $request->session()->regenerate();

        return redirect()->intended('/');
    }

    public function logout(Request $request): RedirectResponse
    {
        Auth::logout();
        $request->session()->invalidate();

        return redirect('/');
    }
}

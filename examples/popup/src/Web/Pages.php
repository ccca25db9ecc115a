<?php

declare(strict_types=1);

namespace Popup\Web;

use Popup\Operation;
use Popup\Rules\Configuration;

/** The admin's HTML. It must know neither requests nor storage. Invariant: every value that is not HTML passes through text(). */
final class Pages
{
    /** For each page: nothing from other sites, nothing inline, not in a frame. */
    public const HEADERS = [
        'Content-Security-Policy' => "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
        'X-Content-Type-Options' => 'nosniff',
        'Referrer-Policy' => 'same-origin',
    ];

    public static function login(bool $wrong): string
    {
        $error = $wrong ? '<p class="error" role="alert">That is not the token.</p>' : '';

        return self::page('Sign in', <<<HTML
            <form method="post" action="/admin/login" class="narrow">
              $error
              <label>Admin token <input type="password" name="token" autocomplete="current-password" required autofocus></label>
              <button>Sign in</button>
            </form>
            HTML);
    }

    /**
     * @param list<Configuration> $configurations
     * @param array<int, array<int, int>> $counts
     */
    public static function list(array $configurations, array $counts, string $csrf, int $now): string
    {
        $rows = '';
        foreach ($configurations as $configuration) {
            $rows .= self::row($configuration, $counts[$configuration->id] ?? [], $csrf, $now);
        }
        $rows = $rows === '' ? '<tr><td colspan="9">There are none yet.</td></tr>' : $rows;
        $csrf = self::text($csrf);

        return self::page('Pop-ups', <<<HTML
            <p class="actions"><a class="button" href="/admin/configurations/new">New pop-up</a>
              <span id="queue" aria-live="polite"></span></p>
            <table>
              <thead><tr><th>Id</th><th>Title</th><th>State</th><th>Priority</th><th>Returned</th><th>Shown</th><th>Clicked</th>
                <th>Closed</th><th></th></tr></thead>
              <tbody>$rows</tbody>
            </table>
            <form method="post" action="/admin/logout"><input type="hidden" name="csrf" value="$csrf"><button class="quiet">Sign out</button></form>
            <script src="/admin/admin.js" defer></script>
            HTML);
    }

    public static function edit(int $id, Form $form, string $csrf): string
    {
        $title = $id === 0 ? 'New pop-up' : "Pop-up $id";
        $action = $id === 0 ? '/admin/configurations' : "/admin/configurations/$id";
        $field = static fn (string $name, string $label, string $type = 'text', string $more = ''): string => self::field(
            $form,
            $name,
            $label,
            $type,
            $more,
        );
        $csrf = self::text($csrf);
        $general = isset($form->errors()['']) ? '<p class="error" role="alert">' . self::text($form->errors()['']) . '</p>' : '';

        return self::page($title, <<<HTML
            <form method="post" action="$action">
              $general<input type="hidden" name="csrf" value="$csrf">
              {$field('title', 'Title')}
              {$field('body', 'Text', 'textarea')}
              {$field('url', 'Address that a click opens')}
              <fieldset><legend>When</legend>
                {$field('from', 'From (UTC)', 'datetime-local')}
                {$field('until', 'Until (UTC)', 'datetime-local')}
                {$field('interval_h', 'Comes back after, in hours')}
                {$field('priority', 'Priority: the highest first')}
              </fieldset>
              <fieldset><legend>For whom</legend>
                {$field('percentage', 'Per cent of all users')}
                {$field('platforms', 'Platforms; empty: all')}
                {$field('version_min', 'Version from')}
                {$field('version_max', 'Version to')}
                {$field('users', 'These users only; empty: all', 'textarea')}
              </fieldset>
              <p class="actions"><button>Save</button> <a href="/admin">Cancel</a></p>
            </form>
            HTML);
    }

    public static function text(string $text): string
    {
        return htmlspecialchars($text, ENT_QUOTES | ENT_SUBSTITUTE | ENT_HTML5);
    }

    /** @param array<int, int> $counts kind to number */
    private static function row(Configuration $configuration, array $counts, string $csrf, int $now): string
    {
        $id = $configuration->id;
        [$action, $label] = $configuration->paused ? ['resume', 'Resume'] : ['pause', 'Pause'];
        $state = match (true) {
            $configuration->paused => 'paused',
            $configuration->isActive($now) => 'active',
            $configuration->from !== null && $configuration->from > $now => 'waiting',
            default => 'ended',
        };
        $cells = '';
        foreach (Operation::cases() as $operation) {
            $cells .= "<td class=\"count\" data-count=\"$id-{$operation->value}\">" . ($counts[$operation->value] ?? 0) . '</td>';
        }

        return (
            "<tr data-id=\"$id\"><td>$id</td><td><a href=\"/admin/configurations/$id\">"
            . self::text($configuration->title)
            . "</a></td><td class=\"state $state\">$state</td><td>{$configuration->priority}</td>$cells"
            . "<td><form method=\"post\" action=\"/admin/configurations/$id/$action\"><input type=\"hidden\" name=\"csrf\" value=\""
            . self::text($csrf)
            . "\"><button class=\"quiet\">$label</button></form></td></tr>"
        );
    }

    private static function field(Form $form, string $name, string $label, string $type, string $more): string
    {
        $value = self::text($form->values[$name]);
        $error = $form->errors()[$name] ?? null;
        $note = $error === null ? '' : "<span class=\"error\" id=\"$name-error\" role=\"alert\">" . self::text($error) . '</span>';
        $marks = "name=\"$name\" $more" . ($error === null ? '' : " aria-invalid=\"true\" aria-describedby=\"$name-error\"");
        $input = $type === 'textarea'
            ? "<textarea $marks rows=\"4\">\n$value</textarea>"
            : "<input type=\"$type\" value=\"$value\" $marks>";

        return '<label>' . self::text($label) . " $input$note</label>";
    }

    private static function page(string $title, string $body): string
    {
        $title = self::text($title);

        return <<<HTML
            <!doctype html>
            <html lang="en">
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>$title · Pop-ups</title>
            <link rel="stylesheet" href="/style.css">
            <main><h1>$title</h1>
            $body</main>
            </html>

            HTML;
    }
}

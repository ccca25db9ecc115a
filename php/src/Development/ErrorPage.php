<?php

declare(strict_types=1);

namespace Weft\Development;

/** The page a client sees for an uncaught exception in development: what happened, where, and the calls that led there. */
final class ErrorPage
{
    /** Lines of source shown around the one at fault. */
    private const CONTEXT = 6;

    /** @internal called by the server */
    public static function render(\Throwable $exception): string
    {
        $sections = '';
        for ($e = $exception; $e !== null; $e = $e->getPrevious()) {
            $sections .= self::section($e, $e !== $exception);
        }
        $title = self::text($exception::class . ': ' . $exception->getMessage());

        return <<<HTML
            <!doctype html>
            <html lang="en">
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>$title</title>
            <style>
            :root { color-scheme: light dark; --line: #8884; --fault: #e5484d33; }
            body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
            h1, h2 { font-size: 1.3rem; overflow-wrap: anywhere; }
            h1 small, h2 small { display: block; font-weight: normal; opacity: .7; font-size: 1rem; }
            pre { border: 1px solid var(--line); border-radius: .5rem; padding: .75rem 0; overflow-x: auto; font-size: .85rem; }
            pre span { display: block; padding: 0 .75rem; } pre .fault { background: var(--fault); }
            ol { padding-left: 2rem; } li { margin: .4rem 0; overflow-wrap: anywhere; } code { font-size: .9rem; }
            footer { opacity: .7; border-top: 1px solid var(--line); margin-top: 2rem; padding-top: .5rem; }
            </style>
            $sections
            <footer>Shown because weft runs in development mode. In production the client gets a plain 500.</footer>
            </html>

            HTML;
    }

    private static function section(\Throwable $e, bool $previous): string
    {
        $heading = $previous ? 'h2' : 'h1';
        $kind = ($previous ? 'Caused by ' : '') . $e::class;
        $place = self::text($e->getFile() . ':' . $e->getLine());
        $frames = '';
        foreach ($e->getTrace() as $frame) {
            if ($frame['function'] === '{coroutine}') {
                break; // below is the server
            }
            $call = self::text(($frame['class'] ?? '') . ($frame['type'] ?? '') . $frame['function'] . '()');
            $where = self::text(isset($frame['file']) ? "{$frame['file']}:{$frame['line']}" : 'PHP itself');
            $frames .= "<li><code>$call</code><br>$where</li>\n";
        }

        return (
            "<$heading><small>"
            . self::text($kind)
            . '</small>'
            . self::text($e->getMessage())
            . "</$heading>\n<p>at $place</p>\n"
            . self::source($e->getFile(), $e->getLine())
            . ($frames !== '' ? "<ol>\n$frames</ol>\n" : '')
        );
    }

    private static function source(string $file, int $line): string
    {
        $lines = is_file($file) && is_readable($file) ? (file($file, FILE_IGNORE_NEW_LINES) ?: []) : [];
        $from = max(0, $line - 1 - self::CONTEXT);
        $shown = array_slice($lines, $from, (2 * self::CONTEXT) + 1, false);
        $html = '';
        foreach ($shown as $i => $source) {
            $number = $from + $i + 1;
            $class = $number === $line ? ' class="fault"' : '';
            $html .= sprintf('<span%s>%5d  %s</span>', $class, $number, self::text($source));
        }

        return $html !== '' ? "<pre>$html</pre>\n" : '';
    }

    private static function text(string $text): string
    {
        return htmlspecialchars($text, ENT_QUOTES | ENT_SUBSTITUTE, 'UTF-8');
    }
}

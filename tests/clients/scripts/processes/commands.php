<?php

/* exec(), shell_exec(), system(), passthru(), the backtick operator. */

declare(strict_types=1);

/** The output of a function that prints. */
function printed(callable $work): string
{
    ob_start();
    $work();

    return trim(ob_get_clean());
}

return [
    'forks' => true,
    'prints' => static function (): void {
        var_dump(exec('echo one; sleep 0.02; echo two; exit 3', $lines, $code), $lines, $code);
        var_dump(shell_exec('sleep 0.02; printf text'), `echo backticks`, shell_exec('exit 1'));
        var_dump(printed(static fn () => system('echo system; sleep 0.02; exit 2', $code)), $code);
        var_dump(printed(static fn () => passthru('printf passthru; sleep 0.02; exit 4', $code)), $code);
        var_dump(strlen(shell_exec('head -c 300000 /dev/zero')), exec('no-such-command 2>&1', $none, $code) !== '', $code);
    },
    'waits' => static fn (int $n): string => match ($n % 4) {
        0 => exec("sleep 0.5; echo $n"),
        1 => trim(shell_exec("sleep 0.5; echo $n")),
        2 => printed(static fn () => system("sleep 0.5; echo $n")),
        3 => printed(static fn () => passthru("sleep 0.5; echo $n")),
    },
];

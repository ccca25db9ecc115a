<?php
// The last stage of a Dockerfile as shell commands, one a line: the instruction in lower letters with its arguments quoted.
// JSON arrays become one argument per element. php stage.php Dockerfile
//
// Only what deploy/Dockerfile uses is understood; anything else is an error, not a guess.

/** @return list<string> the arguments of an instruction */
function arguments(string $name, string $text): array
{
    if (str_starts_with($text, '[')) {
        return json_decode($text, true, flags: JSON_THROW_ON_ERROR);
    }

    return match ($name) {
        'run' => [$text],
        'env' => preg_split('/\s+/', $text),
        default => explode(' ', preg_replace('/\s+/', ' ', $text)),
    };
}

$lines = preg_replace('/^\s*#.*\n/m', '', file_get_contents($argv[1] ?? throw new InvalidArgumentException('a Dockerfile')));
$lines = preg_replace('/\\\\\n\s*/', ' ', $lines);
$known = ['arg', 'from', 'run', 'copy', 'env', 'workdir', 'user', 'expose', 'stopsignal', 'healthcheck', 'entrypoint', 'cmd'];
$stage = [];
foreach (array_filter(array_map('trim', explode("\n", $lines))) as $line) {
    [$name, $text] = explode(' ', $line, 2);
    $name = strtolower($name);
    in_array($name, $known, true) || throw new RuntimeException("not understood: $line");
    if ($name === 'from') {
        $stage = [];
    }
    if ($name === 'healthcheck') {
        $text = preg_replace('/^.*\bCMD\s+/', '', $text);
    }
    $stage[] = implode(' ', array_map(escapeshellarg(...), ["image_$name", ...arguments($name, trim($text))]));
}
echo implode("\n", $stage), "\n";

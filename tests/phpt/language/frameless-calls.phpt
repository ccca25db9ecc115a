--TEST--
Functions that PHP 8.4 calls without a frame: what they call may wait, and other coroutines call them meanwhile
--WEFT-ONLY--
--FILE--
<?php
use function Weft\go;

class Text
{
    public function __construct(private string $text)
    {
    }

    public function __toString(): string
    {
        usleep(random_int(100, 2000));

        return $this->text;
    }
}

spl_autoload_register(function (string $class): void {
    usleep(1000);
    if (str_starts_with($class, 'Late')) {
        eval("class $class { public \$own; }");
    }
});
set_error_handler(function (int $level, string $text): bool {
    usleep(500);
    throw new ErrorException($text);
});

function all(int $n): array
{
    $text = fn (string $text) => new Text("$text$n");

    return [
        \class_exists("Late$n"),
        \class_exists("Late$n", false),
        \class_exists("Missing$n"),
        \interface_exists("Missing$n"),
        \property_exists("Late$n", 'own'),
        \property_exists("LateToo$n", 'own'),
        \trim($text(' a')),
        \trim($text('xa'), 'x'),
        \implode(',', [$text('a'), $text('b')]),
        \implode([$text('a'), $text('b')]),
        \dirname($text('/a/b/')),
        \dirname($text('/a/b/'), 2),
        \strstr($text('a@'), '@'),
        \strstr($text('a@'), '@', true),
        \strpos($text('ab'), $text('b')),
        \strpos($text('abb'), $text('b'), 1),
        \str_contains($text('ab'), $text('b')),
        \str_starts_with($text('ab'), new Text('a')),
        \substr($text('abc'), 1),
        \substr($text('abc'), 1, 1),
        \strtr($text('abc'), ['a' => 'x']),
        \strtr($text('abc'), $text('a'), $text('x')),
        \str_replace(new Text('a'), $text('x'), $text('aba')),
        \preg_match($pattern = new Text('/^a\d+$/'), $text('a')),
        \preg_replace(new Text('/\d+/'), $text('x'), $text('a')),
        \in_array("a$n", [$text('a')]),
        \in_array("b$n", [$text('a')], true),
        \min($n, $n + 1),
        \max($n, $n + 1),
        \dechex($n),
        \is_numeric("$n"),
    ];
}

/** What must come out: the same calls, with frames. */
function expected(int $n): array
{
    $call = fn (string $function, mixed ...$arguments) => $function(...$arguments);

    return [
        true, true, false, false, true, true, "a$n", "a$n", "a$n,b$n", "a{$n}b$n", '/a/b', '/a', "@$n", 'a', 1, 2, true, true,
        $call('substr', "abc$n", 1), $call('substr', "abc$n", 1, 1), $call('strtr', "abc$n", ['a' => 'x']),
        $call('strtr', "abc$n", "a$n", "x$n"), $call('str_replace', 'a', "x$n", "aba$n"), 1, $call('preg_replace', '/\d+/', "x$n", "a$n"),
        true, false, $n, $n + 1, dechex($n), true,
    ];
}

$tasks = [];
for ($n = 0; $n < 30; $n++) {
    $tasks[] = go(function () use ($n): bool {
        foreach (all($n) as $i => $seen) {
            if ($seen !== expected($n)[$i]) {
                echo "$n, $i: ", json_encode([$seen, expected($n)[$i]]), "\n";
            }
        }
        try {
            \strpos($n ? null : $undefined, 'a');
        } catch (ErrorException $e) {
            return true;
        }

        return false;
    });
}
echo count(array_filter(array_map(fn ($task) => $task->await(), $tasks))), " answered\n";
// A wait in such a call that is cut short.
try {
    Weft\timeout(0.01, fn () => \trim(new class {
        public function __toString(): string
        {
            usleep(5_000_000);

            return 'late';
        }
    }));
} catch (Weft\TimeoutException) {
    echo "cut short\n";
}
echo \trim(new Text(' after ')), "\n";
--EXPECT--
30 answered
cut short
after

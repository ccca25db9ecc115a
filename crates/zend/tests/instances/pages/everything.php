<?php

// Uses everything that PHP keeps for the whole process, and checks after every wait that it is still there.
$n = (int) $_GET['n'];
$kind = $n % 3;
$odd = $n % 2 === 1;
$bad = [];

function check(bool $as_it_should_be, string $what): void
{
    global $bad;
    if (!$as_it_should_be) {
        $bad[] = $what;
    }
}

function nap(): void
{
    usleep(mt_rand(200, 3000));
}

require_once __DIR__ . "/same_$kind.php";
include_once __DIR__ . "/same_$kind.php";
define('AT_RUN_TIME', $n);
if ($odd) {
    function conditional(): string
    {
        return 'odd';
    }
    class Conditional
    {
        public const NAME = 'odd';
        public static int $count = 0;
    }
} else {
    function conditional(): string
    {
        return 'even';
    }
    class Conditional
    {
        public const NAME = 'even';
        public static int $count = 1000;
    }
}
function with_static(): int
{
    static $calls = 0;
    return ++$calls;
}
spl_autoload_register(function (string $class) use ($n): void {
    nap();
    eval("class $class { const N = $n; public static array \$seen = []; }");
});

$GLOBALS['global'] = $n;
$precision = (string) (5 + $n % 10);
$zone = $odd ? 'Asia/Tokyo' : 'America/New_York';
ini_set('precision', $precision);
ini_set('memory_limit', (100 + $n) . 'M');
ini_set('user_agent', "agent $n");
date_default_timezone_set($zone);
$errors = [];
set_error_handler(function (int $level, string $message) use (&$errors, $n): bool {
    $errors[] = "$n:$message";
    return true;
});
set_exception_handler(function (Throwable $exception): void {
    echo 'EXH:' . $exception->getMessage();
});
$reporting = $odd ? E_ALL : E_ALL & ~E_NOTICE;
error_reporting($reporting);
ob_start(fn (string $buffer): string => "[$n]$buffer");
header("X-N: $n");
http_response_code(200 + $n % 3);
$locale = $odd ? 'C.UTF-8' : 'C';
setlocale(LC_ALL, $locale);
putenv("INSTANCE_TEST=$n");
$directory = $odd ? '/var' : '/usr';
chdir($directory);
$mask = $odd ? 077 : 022;
umask($mask);
strtok("a$n b$n c$n", ' ');
libxml_use_internal_errors($odd);
mb_internal_encoding($odd ? 'UTF-8' : 'ISO-8859-1');
mb_substitute_character($odd ? 0x3f : 0x21);
class Wrapper
{
    public $context;
    public function stream_open(): bool
    {
        return true;
    }
    public function stream_read(int $count): string
    {
        nap();
        return '';
    }
    public function stream_eof(): bool
    {
        return true;
    }
    public function stream_stat(): array
    {
        return [];
    }
    public function stream_close(): void
    {
    }
}
stream_wrapper_register("wrap$kind", Wrapper::class);
session_id("s$n");
session_start();
$_SESSION['n'] = $n;
nap();
json_decode('{bad');
preg_match('/(?:\D+|<\d+>)*[!?]/', 'foobar foobar foobar');
$pcre_error = preg_last_error();
register_shutdown_function(function () use ($n): void {
    usleep(2000);
    echo "SD$n;";
});
class Cycle
{
    public ?Cycle $self = null;
    public function __destruct()
    {
        usleep(300);
    }
}
$cycle = new Cycle();
$cycle->self = $cycle;
unset($cycle);
$file = tempnam(sys_get_temp_dir(), 'weft');
file_put_contents($file, "file $n");

for ($i = 0; $i < 4; $i++) {
    nap();
    with_static();
    Conditional::$count++;
    SameClass::$count++;
    Loaded::$seen[] = $n;
    check($GLOBALS['global'] === $n, 'a global variable');
    check($_GET['n'] == $n, '$_GET');
    check($_SERVER['HTTP_X_ID'] === $_COOKIE['id'], '$_SERVER or $_COOKIE');
    check(AT_RUN_TIME === $n, 'a constant defined at run time');
    check(SAME_CONSTANT === "constant $kind", 'a constant');
    check(same_function() === "function $kind", 'a function');
    check(SameClass::NAME === "class $kind" && SameClass::$count === $i + 1, 'a class');
    check(conditional() === ($odd ? 'odd' : 'even'), 'a conditional function');
    check(Conditional::NAME === ($odd ? 'odd' : 'even'), 'a conditional class');
    check(Conditional::$count === ($odd ? 0 : 1000) + $i + 1, 'a static property');
    check(with_static() === 2 * ($i + 1), 'a static variable');
    check(Loaded::N === $n && count(Loaded::$seen) === $i + 1, 'an autoloaded class');
    check(ini_get('precision') === $precision && (string) (1 / 3) === (string) round(1 / 3, (int) $precision), 'precision');
    check(ini_get('memory_limit') === (100 + $n) . 'M', 'memory_limit');
    check(ini_get('user_agent') === "agent $n", 'user_agent');
    check(date_default_timezone_get() === $zone, 'the time zone');
    echo $undefined;
    check(end($errors) === "$n:Undefined variable \$undefined", 'the error handler');
    check(error_reporting() === $reporting, 'error_reporting');
    check(setlocale(LC_ALL, 0) === $locale, 'the locale');
    check(getenv('INSTANCE_TEST') === (string) $n, 'the environment');
    check(getcwd() === $directory, 'the current directory');
    check(umask() === $mask, 'the umask');
    check(strtok(' ') === ([0 => "b$n", 1 => "c$n"][$i] ?? false), 'strtok');
    check(libxml_use_internal_errors() === $odd, 'libxml');
    check(mb_internal_encoding() === ($odd ? 'UTF-8' : 'ISO-8859-1'), 'mb_internal_encoding');
    check(mb_substitute_character() === ($odd ? 0x3f : 0x21), 'mb_substitute_character');
    $wrappers = stream_get_wrappers();
    check(in_array("wrap$kind", $wrappers) && !in_array('wrap' . ($kind + 1) % 3, $wrappers), 'stream wrappers');
    check(file_get_contents("wrap$kind://x") === '', 'a stream wrapper that waits');
    check(json_last_error() === JSON_ERROR_SYNTAX, 'json_last_error');
    check(preg_last_error() === $pcre_error, 'preg_last_error');
    check(session_id() === "s$n" && $_SESSION['n'] === $n, 'the session');
    check(count(get_included_files()) === 2, 'the included files');
    check(in_array("X-N: $n", headers_list()), 'the headers');
    check(http_response_code() === 200 + $n % 3, 'the status');
    check(preg_match('/^(\d+)$/', (string) $n, $match) === 1 && $match[1] == $n, 'a regular expression');
    $sorted = ["c$n", "a$n", "b$n"];
    usort($sorted, function (string $a, string $b): int {
        usleep(100);
        return strcmp($a, $b);
    });
    check($sorted === ["a$n", "b$n", "c$n"], 'a comparison that waits');
    try {
        throw new Exception("thrown $n");
    } catch (Exception $exception) {
        nap();
        check($exception->getMessage() === "thrown $n", 'an exception');
    } finally {
        nap();
    }
    $generator = (function () use ($n): Generator {
        for ($k = 0; $k < 3; $k++) {
            usleep(200);
            yield $n * 10 + $k;
        }
    })();
    check(iterator_to_array($generator) === [$n * 10, $n * 10 + 1, $n * 10 + 2], 'a generator');
    $fiber = new Fiber(function () use ($n): int {
        usleep(300);
        $inner = new Fiber(function () use ($n): int {
            usleep(100);
            return $n + Fiber::suspend($n * 2);
        });
        $given = $inner->start();
        usleep(100);
        $inner->resume(1);
        return $inner->getReturn() + Fiber::suspend($given);
    });
    check($fiber->start() === $n * 2, 'nested Fibers');
    $fiber->resume(7);
    check($fiber->getReturn() === $n + 8, 'the result of nested Fibers');
    if ($odd) {
        $document = new DOMDocument();
        $document->loadXML("<a><b$n></a>");
        usleep(200);
        $xml_errors = libxml_get_errors();
        check(isset($xml_errors[0]) && str_contains($xml_errors[0]->message, "b$n"), 'the errors of libxml');
        libxml_clear_errors();
    }
    check(file_get_contents($file) === "file $n", 'a file');
    preg_match('/(?:\D+|<\d+>)*[!?]/', 'foobar foobar foobar');
    gc_collect_cycles();
}
unlink($file);
session_write_close();
echo $bad ? 'BAD ' . implode(', ', array_unique($bad)) : "OK $n";
switch ($n % 5) {
    case 1:
        exit('x');
    case 2:
        restore_error_handler();
        throw new RuntimeException("unc$n");
    case 3:
        restore_error_handler();
        undefined_fn();
        break;
    case 4:
        restore_error_handler();
        restore_exception_handler();
        ini_set('memory_limit', '16M');
        $all = [];
        while (true) {
            $all[] = str_repeat('x', 1 << 20) . count($all);
        }
}

<?php

declare(strict_types=1);

use Weft\Http\Request;
use Weft\Http\Response;
use Weft\Http\UploadedFile;

/** Waits in one of a script's ways to wait; the n-th request uses the n-th way. */
function wait_somehow(int $n): void
{
    match ($n % 4) {
        0 => usleep(1000 + $n * 37 % 3000),
        1 => time_nanosleep(0, 500_000 + $n * 1000),
        2 => wait_on_a_stream(),
        3 => shell_exec('sleep 0.001'),
    };
}

function wait_on_a_stream(): void
{
    [$a, $b] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    $read = [$a];
    $write = $except = null;
    stream_select($read, $write, $except, 0, 1500);
    fclose($b);
}

/** Everything that PHP keeps for a request, before and after a wait: both must belong to this request. */
function superglobals(Request $request): Response
{
    $n = (int) $_GET['n'];
    $look = fn () => [
        $_GET, $_POST, $_COOKIE, $_REQUEST, array_map(fn ($f) => $f['name'], $_FILES),
        $_SERVER['REQUEST_URI'], $_SERVER['QUERY_STRING'], $_SERVER['HTTP_X_N'], $_SERVER['REQUEST_METHOD'],
        file_get_contents('php://input'), $request->target(), $request->query('n'), $request->header('x-n'),
    ];
    $before = $look();
    $_GET['added'] = $n;
    $GLOBALS['_POST']['added'] = $n;
    header("X-Before: $n");
    setcookie('seen', (string) $n);
    echo "echo $n;";
    wait_somehow($n);
    http_response_code(200 + $n % 5);
    header("X-After: $n");
    $after = $look();
    unset($after[0]['added'], $after[1]['added']);
    echo "again $n;";

    return new Response(json_encode(['same' => $before === $after, 'seen' => $before, 'added' => [$_GET['added'], $_POST['added']],
        'headers' => headers_list(), 'status' => http_response_code()]));
}

/** Changes every setting that a request can change, waits, and reports what it finds. */
function settings(Request $request): Response
{
    $n = (int) $request->query('n');
    $found = ['clean' => [ini_get('precision'), ini_get('user_agent'), error_get_last(), ob_get_level(), date_default_timezone_get(),
        error_reporting(), json_last_error(), basename(getcwd()) === basename(__DIR__)]];
    ini_set('precision', (string) (5 + $n % 10));
    ini_set('user_agent', "agent $n");
    date_default_timezone_set(['Europe/Berlin', 'Asia/Tokyo', 'UTC', 'America/New_York'][$n % 4]);
    error_reporting(E_ALL & ~(1 << ($n % 3 + 8)));
    set_error_handler(function (int $type, string $message) use ($n, &$found) {
        $found['handled'][] = "$n: $message";

        return true;
    });
    ob_start(fn (string $text) => "[$n:$text]");
    echo 'buffered';
    $word = strtok("a$n b$n c$n", ' ');
    json_decode($n % 2 ? '{' : '{}');
    wait_somehow($n);
    $found['after'] = [ini_get('precision'), ini_get('user_agent'), ob_get_level(), date_default_timezone_get(), error_reporting()];
    $found['json'] = json_last_error();
    $found['strtok'] = [$word, strtok(' '), strtok(' ')];
    trigger_error("warning $n", E_USER_WARNING);
    ob_end_flush();
    $list = range(10, 1);
    usort($list, function ($a, $b) { usleep(20); return $a <=> $b; });
    $found['sorted'] = $list === range(1, 10);

    return new Response(json_encode($found));
}

function shutdown(Request $request): string
{
    $n = $request->query('n');
    register_shutdown_function(function () use ($n) {
        usleep(500);
        file_put_contents("shutdown-$n", $n);
    });
    wait_somehow((int) $n);
    if ($request->query('exit') !== null) {
        exit("left $n");
    }

    return "shut $n";
}

function described_upload(UploadedFile $file): array
{
    return [$file->name(), $file->type(), $file->size(), $file->error(), $file->error() ? null : file_get_contents($file->path())];
}

function form(Request $request): Response
{
    $files = $request->files();
    array_walk_recursive($files, function (&$file) { $file = described_upload($file); });

    return Response::json(['fields' => $request->form(), 'files' => $files, 'a' => $request->form('a', 'none'),
        'post' => $_POST, 'uploaded' => array_keys($_FILES)]);
}

function moved(Request $request): Response
{
    $file = $request->files()['f'];
    $path = $file->path();
    $file->moveTo(__DIR__ . '/moved');
    try {
        $file->moveTo(__DIR__ . '/again');
    } catch (RuntimeException $error) {
        return Response::json([is_file($path), file_get_contents(__DIR__ . '/moved'), $error->getMessage(), $path]);
    }
}

function server_variables(): Response
{
    $wanted = array_flip(['REQUEST_METHOD', 'REQUEST_URI', 'QUERY_STRING', 'SERVER_PROTOCOL', 'REMOTE_ADDR', 'SERVER_NAME', 'SERVER_PORT',
        'CONTENT_TYPE', 'CONTENT_LENGTH', 'HTTP_HOST', 'HTTP_X_SEVERAL', 'HTTPS', 'SCRIPT_NAME', 'SCRIPT_FILENAME', 'PHP_SELF', 'PATH_INFO',
        'HTTP_PROXY', 'REQUEST_SCHEME', 'GATEWAY_INTERFACE', 'SERVER_SOFTWARE', 'DOCUMENT_ROOT', 'HTTP_CONTENT_TYPE']);

    return Response::json(array_intersect_key($_SERVER, $wanted) + ['times' => [is_int($_SERVER['REQUEST_TIME']),
        abs($_SERVER['REQUEST_TIME_FLOAT'] - microtime(true)) < 60], 'port' => ctype_digit((string) $_SERVER['REMOTE_PORT'])]);
}

final class Kept
{
    public static ?Request $request = null;
}

function routed(Request $request): mixed
{
    switch ($request->path()) {
        case '/superglobals':
            return superglobals($request);
        case '/settings':
            return settings($request);
        case '/shutdown':
            return shutdown($request);
        case '/form':
            return form($request);
        case '/moved':
            return moved($request);
        case '/server':
            return server_variables();
        case '/keep':
            Kept::$request = $request;
            $request->query('x');

            return 'kept';
        case '/kept':
            return Response::json([Kept::$request->path(), Kept::$request->query('x'), Kept::$request->header('x-kept'),
                Kept::$request->aborted(), Kept::$request === $request]);
        case '/echo':
            header('Content-Type: text/plain');
            header('X-A: 1');
            header('X-A: 2', false);
            header_remove('X-Powered-By');
            http_response_code(202);
            echo 'echoed';

            return null;
        case '/both':
            header('X-Both: from header()');
            header('X-Kept: from header()');
            setcookie('one', '1');
            echo 'echoed and ';

            return (new Response('returned', 201, ['X-Both' => 'from Response']))->setCookie('two', '2');
        case '/flush':
            echo 'before ';
            flush();
            $late = headers_sent();
            echo $late ? 'sent' : 'not sent';

            return null;
        case '/exit':
            echo 'before exit';
            exit($request->query('with') === null ? 0 : (string) $request->query('with'));
        case '/return':
            return match ($request->query('what')) {
                'string' => 'text', 'null' => null, 'int' => 42, 'array' => [1], 'object' => new ArrayObject([1]), 'false' => false,
                'stringable' => new class { public function __toString(): string { return 'as text'; } },
                'closure' => fn () => 1,
            };
        case '/location':
            header('Location: /there');

            return '';
        case '/phpinfo':
            phpinfo(INFO_GENERAL);

            return null;
        case '/environment':
            return Response::json([PHP_SAPI, ini_get('opcache.enable'), opcache_get_status(false)['opcache_enabled'],
                opcache_get_status(false)['jit']['on'], ini_get('precision'), class_exists(Weft\Http\UploadedFile::class)]);
        case '/stream':
            $stream = $request->stream();
            $first = fread($stream, 4);
            rewind($stream);

            return $first . '|' . stream_get_contents($stream) . '|' . file_get_contents('php://input') . '|' . $request->body();
        case '/throw':
            throw new DomainException('thrown by the application', 3, new LogicException('the cause'));
        case '/warn':
            echo $undefined;

            return 'after the warning';
    }

    return new Response('Not Found', 404);
}

return routed(...);

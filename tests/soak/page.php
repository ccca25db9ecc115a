<?php
/** The soak's page for classic mode: waits, computations that a short time slice interrupts, and faults. Each answers with the
 * token of its request, and none may see anything of another request. */

declare(strict_types=1);

final class Seen
{
    public static string $token = '';
    /** @var list<string> */
    public static array $destroyed = [];

    public function __construct(private string $name, public ?Seen $other = null) {}

    public function __destruct()
    {
        self::$destroyed[] = $this->name;
    }
}

if (Seen::$token !== '' || defined('TOKEN') || getenv('SOAK_TOKEN') !== false || ini_get('precision') !== '14') {
    exit('something of another request is here');
}
$token = Seen::$token = $_GET['token'];
define('TOKEN', $token);
putenv("SOAK_TOKEN=$token");

function fetch(string $url): string
{
    $curl = curl_init($url);
    curl_setopt_array($curl, [CURLOPT_RETURNTRANSFER => true, CURLOPT_TIMEOUT => 20]);
    return (string) curl_exec($curl);
}

function recurse(int $depth): int
{
    return array_sum(array_map(recurse(...), [$depth + 1]));
}

/** Numbers that depend on nothing but the seed. */
function numbers(int $seed, int $count): Generator
{
    for ($i = 0; $i < $count; $i++) {
        $seed = ($seed * 1_103_515_245 + 12_345) & 0xffffff;
        yield $i => $seed;
    }
}

/** @param callable(): string $work */
function answer(callable $work): void
{
    $said = $work();
    print $said === '' && Seen::$token === TOKEN && getenv('SOAK_TOKEN') === TOKEN ? TOKEN : "$said, not as expected";
}

switch (strtok($_SERVER['REQUEST_URI'], '?')) {
    case '/sleep':
        usleep(20_000);
        answer(fn (): string => '');
        break;
    case '/mysql':
        $pdo = new PDO('mysql:host=127.0.0.1;dbname=weft;port=' . getenv('MYSQL_PORT'), 'root', '');
        $statement = $pdo->prepare('SELECT ? AS token, SLEEP(0.01) AS slept');
        $statement->execute([$token]);
        print $statement->fetch(PDO::FETCH_ASSOC)['token'];
        break;
    case '/redis':
        $redis = new Redis();
        $redis->pconnect('127.0.0.1', (int) getenv('REDIS_PORT'));
        $redis->set("soak:$token", $token, 60);
        $redis->rawCommand('BLPOP', "never:$token", '0.01');
        print $redis->get("soak:$token");
        break;
    case '/upstream':
        print fetch('http://127.0.0.1:' . getenv('UPSTREAM_PORT') . "/late/15/$token");
        break;
    case '/file':
        $file = fopen(getenv('SOAK_DIRECTORY') . '/shared', 'c+');
        flock($file, LOCK_EX);
        ftruncate($file, 0);
        fwrite($file, $token);
        usleep(200);
        rewind($file);
        $read = fread($file, 100);
        flock($file, LOCK_UN);
        print $read;
        break;
    case '/globals':
        ini_set('precision', (string) (3 + strlen($token)));
        header("X-Token: $token");
        usleep(5_000);
        print ini_get('precision') === (string) (3 + strlen($token)) ? $_GET['token'] : 'another precision';
        break;
    case '/session':
        session_save_path(getenv('SOAK_DIRECTORY'));
        session_id(substr($token, 0, 4) . 'soak');
        session_start();
        $before = $_SESSION['count'] ??= 0;
        usleep(1_000);
        $_SESSION['count']++;
        answer(fn (): string => $_SESSION['count'] === $before + 1 ? '' : 'the session changed meanwhile');
        break;
    case '/compute':
        for ($i = 0, $sum = 0; $i < 500_000; $i++) {
            $sum = ($sum * 31 + $i) & 0xffffff;
        }
        answer(fn (): string => $sum === 5_550_224 ? '' : "computed $sum");
        break;
    case '/compute-in-c':
        $text = random_bytes(1 << 18);
        answer(fn (): string => gzdecode(gzencode($text, 9)) === $text ? '' : 'compressed wrongly');
        break;
    case '/called-back':
        $numbers = iterator_to_array(numbers(7, 3_000));
        usort($numbers, fn (int $one, int $other): int => $one <=> $other);
        $expected = iterator_to_array(numbers(7, 3_000));
        sort($expected);
        $text = preg_replace_callback('/\d+/', fn (array $found): string => dechex((int) $found[0]), implode(',', $numbers));
        answer(fn (): string => $numbers === $expected && $text === implode(',', array_map(dechex(...), $expected)) ? '' : 'sorted wrongly');
        break;
    case '/generators':
        $count = 0;
        $fiber = new Fiber(function () use (&$count): void {
            foreach (numbers(3, 20_000) as $number) {
                if (++$count % 1_000 === 0) {
                    Fiber::suspend($number);
                }
            }
        });
        for ($fiber->start(); !$fiber->isTerminated(); $fiber->resume()) {
        }
        answer(fn (): string => $count === 20_000 ? '' : "$count steps");
        break;
    case '/destructors':
        for ($i = 0; $i < 2_000; $i++) {
            $one = new Seen("a$i");
            $one->other = new Seen("b$i", $one); // a cycle, which only the collector finds
        }
        unset($one);
        gc_collect_cycles();
        answer(fn (): string => count(array_unique(Seen::$destroyed)) === 4_000 ? '' : count(Seen::$destroyed) . ' destroyed');
        break;
    case '/throw':
        usleep(2_000);
        throw new RuntimeException("deliberate: $token");
    case '/exit':
        register_shutdown_function(fn () => print TOKEN);
        usleep(2_000);
        exit;
    case '/recurse':
        usleep(1_000);
        print recurse(0);
        break;
    case '/stream':
        foreach (str_split($token, 3) as $part) {
            usleep(2_000);
            print $part;
            flush();
        }
        break;
    case '/exec':
        print shell_exec('sleep 0.01; printf %s ' . escapeshellarg($token));
        break;
    case '/fatal':
        usleep(5_000);
        ini_set('memory_limit', (string) (memory_get_usage(true) + (4 << 20)));
        print str_repeat('x', 1 << 24);
        break;
    case '/state':
        print json_encode(['coroutines' => 0, 'descriptors' => count(scandir('/proc/self/fd')), 'memory' => 0]);
        break;
    default:
        http_response_code(404);
        print 'no such route';
}

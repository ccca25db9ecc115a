<?php
/** Every kind of wait, computation, fault and cancellation; each answers with the token of its request. */

declare(strict_types=1);

use Weft\Http\{Request, Response};
use Weft\{Channel, Scope};
use function Weft\{go, parallel, timeout};

$pool = new Weft\Database\PdoPool('mysql:host=127.0.0.1;dbname=weft;port=' . getenv('MYSQL_PORT'), 'root', '', max: 16);
$redis = new Weft\Redis\RedisPool(port: (int) getenv('REDIS_PORT'), max: 16);
$upstream = 'http://127.0.0.1:' . getenv('UPSTREAM_PORT');

function fetch(string $url): string
{
    $curl = curl_init($url);
    curl_setopt_array($curl, [CURLOPT_RETURNTRANSFER => true, CURLOPT_TIMEOUT => 20]);
    return (string) curl_exec($curl);
}

function query(PDO $pdo, string $token, float $seconds): string
{
    $statement = $pdo->prepare('SELECT ? AS token, SLEEP(?) AS slept');
    $statement->execute([$token, $seconds]);
    return $statement->fetch(PDO::FETCH_ASSOC)['token'];
}

function recurse(int $depth): int
{
    return array_sum(array_map(recurse(...), [$depth + 1]));
}

return function (Request $request) use ($pool, $redis, $upstream): mixed {
    $token = $request->query('token');
    switch ($request->path()) {
        case '/sleep':
            usleep(20_000);
            return $token;
        case '/mysql':
            return $pool->with(fn (PDO $pdo): string => query($pdo, $token, 0.01));
        case '/redis':
            return $redis->with(function (Redis $redis) use ($token): string {
                $redis->set("soak:$token", $token, 60);
                $redis->rawCommand('BLPOP', "never:$token", '0.01'); // blPop() accepts only whole seconds
                return $redis->get("soak:$token");
            });
        case '/upstream':
            return fetch("$upstream/late/15/$token");
        case '/file':
            $file = fopen(getenv('SOAK_DIRECTORY') . '/shared', 'c+');
            flock($file, LOCK_EX);
            ftruncate($file, 0);
            fwrite($file, $token);
            usleep(200);
            rewind($file);
            $read = fread($file, 100);
            flock($file, LOCK_UN);
            return $read;
        case '/globals':
            ini_set('precision', (string) (10 + strlen($token) % 7));
            header("X-Token: $token");
            usleep(5_000);
            echo $_GET['token'];
            return null;
        case '/scope':
            return implode(parallel([
                fn (): string => fetch("$upstream/late/10/" . substr($token, 0, 4)),
                function () use ($token): string {
                    usleep(5_000);
                    return substr($token, 4);
                },
            ]));
        case '/channel':
            $channel = new Channel(1);
            go(function () use ($channel, $token): void {
                foreach (str_split($token) as $letter) {
                    $channel->send($letter);
                }
                $channel->close();
            });
            return implode(iterator_to_array($channel, false));
        case '/timeout':
            try {
                timeout(0.02, fn () => $pool->with(fn (PDO $pdo): string => query($pdo, 'late', 5)));
            } catch (Weft\TimeoutException) {
                return $token;
            }
            return 'not interrupted';
        case '/cancel':
            try {
                Scope::run(function (Scope $scope): void {
                    $scope->go(fn () => sleep(30));
                    $scope->go(function (): never {
                        usleep(3_000);
                        throw new DomainException('first');
                    });
                });
            } catch (DomainException) {
                return $token;
            }
            return 'not cancelled';
        case '/compute':
            for ($i = 0, $sum = 0; $i < 500_000; $i++) {
                $sum = ($sum * 31 + $i) & 0xffffff;
            }
            return $sum === 5_550_224 ? $token : "computed $sum";
        case '/compute-in-c':
            $text = random_bytes(1 << 19);
            return gzdecode(gzencode($text, 9)) === $text ? $token : 'compressed wrongly';
        case '/throw':
            usleep(2_000);
            throw new RuntimeException("deliberate: $token");
        case '/exit':
            echo $token;
            usleep(2_000);
            exit;
        case '/recurse':
            usleep(1_000);
            return (string) recurse(0);
        case '/stream':
            return (function () use ($token): Generator {
                foreach (str_split($token, 3) as $part) {
                    usleep(2_000);
                    yield $part;
                }
            })();
        case '/body':
            return hash('xxh3', $request->body()) . $token;
        case '/exec':
            return shell_exec('sleep 0.01; printf %s ' . escapeshellarg($token));
        case '/fatal':
            usleep(5_000);
            ini_set('memory_limit', (string) (memory_get_usage(true) + (64 << 20)));
            return str_repeat('x', 1 << 30);
        case '/state':
            gc_collect_cycles();
            return Response::json([
                'coroutines' => count(Weft\Coroutine::list()),
                'descriptors' => count(scandir('/proc/self/fd')),
                'memory' => memory_get_usage(),
            ]);
    }
    return Response::text('no such route', 404);
};

--TEST--
parallel(): results by key in the order given, a limit, the first failure
--WEFT-ONLY--
--FILE--
<?php
use Weft\Scope;
use Weft\TimeoutException;
use function Weft\parallel;

$results = parallel([
    'slow' => function (): string { usleep(20000); return 'a'; },
    'fast' => fn (): string => 'b',
    7 => function (): string { usleep(10000); return 'c'; },
]);
echo json_encode($results), "\n";
$waiting = 0;
parallel(array_fill(0, 100, function () use (&$waiting): void {
    for ($waiting++; $waiting < 100;) {
        usleep(1_000);
    }
}));
echo "$waiting at once\n";
echo json_encode(parallel([])), "\n";

// The next item is requested when there is room for it.
$asked = $ended = $ahead = 0;
$works = (function () use (&$asked, &$ended, &$ahead): Generator {
    for ($i = 0; $i < 6; $i++) {
        $ahead = max($ahead, ++$asked - $ended);
        yield "w$i" => function () use ($i, &$ended): int {
            usleep(100);
            $ended++;

            return $i;
        };
    }
})();
echo json_encode(parallel($works, concurrency: 2)), " $ahead\n";

try {
    parallel([fn () => sleep(30), fn () => throw new DomainException('one failed')]);
} catch (DomainException $failure) {
    echo $failure->getMessage(), "\n";
}
try {
    Scope::parallel([fn () => sleep(30)], timeout: 0.01);
} catch (TimeoutException $timeout) {
    echo get_class($timeout), "\n";
}
--EXPECT--
{"slow":"a","fast":"b","7":"c"}
100 at once
[]
{"w0":0,"w1":1,"w2":2,"w3":3,"w4":4,"w5":5} 3
one failed
Weft\TimeoutException
--STDERR--


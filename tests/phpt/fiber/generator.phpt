--TEST--
A generator that suspends the Fiber it is advanced in
--FILE--
<?php
function numbers(): Generator
{
    for ($i = 1; $i <= 3; $i++) {
        $x = Fiber::suspend("asked $i");
        yield $i => $x;
    }
    return 'end';
}
$fiber = new Fiber(function () {
    foreach ($generator = numbers() as $key => $value) {
        echo "$key: $value\n";
    }
    return $generator->getReturn();
});
$asked = $fiber->start();
while (!$fiber->isTerminated()) {
    $asked = $fiber->resume(strtoupper($asked));
}
var_dump($fiber->getReturn());
--EXPECT--
1: ASKED 1
2: ASKED 2
3: ASKED 3
string(3) "end"

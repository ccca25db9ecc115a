--TEST--
Generators: keys, send, throw, return, early end
--FILE--
<?php
function counter(int $to): Generator
{
    try {
        for ($i = 1; $i <= $to; $i++) {
            try {
                $command = yield "k$i" => $i;
                if ($command === 'skip') { $i++; }
            } catch (RuntimeException $e) {
                echo 'caught ', $e->getMessage(), "\n";
                yield 'recovered';
            }
        }
        return 'all';
    } finally {
        echo "closed\n";
    }
}
foreach (counter(2) as $k => $v) { echo "$k=$v\n"; }
$g = counter(5);
echo $g->current(), $g->send('skip'), "\n";
echo $g->throw(new RuntimeException('x')), "\n";
unset($g);
$g = counter(1);
$g->next(); $g->next();
var_dump($g->valid(), $g->getReturn());
--EXPECT--
k1=1
k2=2
closed
13
caught x
recovered
closed
closed
bool(false)
string(3) "all"

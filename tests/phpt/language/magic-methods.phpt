--TEST--
Magic methods that wait
--FILE--
<?php
class M implements ArrayAccess, IteratorAggregate, Countable, JsonSerializable {
    private array $d = ['a' => 1];
    function __get($n) { usleep(10); return "get $n"; }
    function __call($n, $a) { usleep(10); return "call $n " . implode(',', $a); }
    static function __callStatic($n, $a) { usleep(10); return "static $n"; }
    function __toString() { usleep(10); return 'string'; }
    function __invoke($x) { usleep(10); return $x + 1; }
    function offsetGet(mixed $o): mixed { usleep(10); return $this->d[$o] ?? null; }
    function offsetSet(mixed $o, mixed $v): void { usleep(10); $this->d[$o] = $v; }
    function offsetExists(mixed $o): bool { usleep(10); return isset($this->d[$o]); }
    function offsetUnset(mixed $o): void { usleep(10); unset($this->d[$o]); }
    function getIterator(): Iterator { usleep(10); yield from $this->d; }
    function count(): int { usleep(10); return count($this->d); }
    function jsonSerialize(): mixed { usleep(10); return $this->d; }
    function __serialize(): array { usleep(10); return $this->d; }
    function __unserialize(array $d): void { usleep(10); $this->d = $d; }
    function __clone() { usleep(10); $this->d['cloned'] = true; }
}
$m = new M;
$m['b'] = 2;
unset($m['a']);
echo $m->x, '|', $m->f(1, 2), '|', M::g(), '|', "$m", '|', implode(',', array_map($m, [1, 2])), "\n";
echo $m['b'], isset($m['c']) ? 'y' : 'n', count($m), json_encode([$m, clone $m]), "\n";
foreach (unserialize(serialize($m)) as $k => $v) { echo "$k=>$v\n"; }
--EXPECT--
get x|call f 1,2|static g|string|2,3
2n1[{"b":2},{"b":2,"cloned":true}]
b=>2

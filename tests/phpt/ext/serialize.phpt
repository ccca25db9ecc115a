--TEST--
serialize and unserialize, nested in each other's callbacks
--FILE--
<?php
class S {
    public $v;
    function __sleep() { usleep(10); serialize([1]); return ['v']; }
    function __wakeup() { usleep(10); $this->v = unserialize(serialize($this->v)) . '!'; }
}
$s = new S;
$s->v = 'x';
$list = unserialize(serialize([$s, $s]));
var_dump($list[0] === $list[1], $list[0]->v);
var_dump(@unserialize('O:1:"S":1:{broken'), unserialize(serialize(new ArrayObject([1])))[0]);
var_dump(get_class(unserialize('O:1:"S":0:{}', ['allowed_classes' => false])));
--EXPECT--
bool(true)
string(2) "x!"
bool(false)
int(1)
string(22) "__PHP_Incomplete_Class"

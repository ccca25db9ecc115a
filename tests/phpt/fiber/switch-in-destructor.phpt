--TEST--
Since PHP 8.4 a destructor may switch Fibers, also one that the garbage collector runs
--PHP--
>= 8.4
--FILE--
<?php
class D {
    public $self;
    function __destruct() {
        $fiber = new Fiber(function () { echo "in\n"; Fiber::suspend(); echo "out\n"; });
        try {
            $fiber->start();
        } catch (FiberError $e) {
            echo $e->getMessage(), "\n";
        }
    }
}
$d = new D;
$d = null;
$cycle = new D;
$cycle->self = $cycle;
$cycle = null;
gc_collect_cycles();
echo "end\n";
--EXPECT--
in
in
end

--TEST--
Before PHP 8.4 a destructor may not switch Fibers; the refusal is an exception
--PHP--
< 8.4
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
Cannot switch fibers in current execution context
Cannot switch fibers in current execution context
end

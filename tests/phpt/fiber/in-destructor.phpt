--TEST--
PHP 8.2 refuses to switch Fibers in a destructor; the refusal is an exception
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

--TEST--
A Fiber cannot suspend while it is being destroyed
--FILE--
<?php
$fiber = new Fiber(function () {
    try {
        Fiber::suspend();
    } finally {
        try {
            Fiber::suspend();
        } catch (FiberError $e) {
            echo $e->getMessage(), "\n";
        }
    }
});
$fiber->start();
unset($fiber);
echo "end\n";
--EXPECT--
Cannot suspend in a force-closed fiber
end

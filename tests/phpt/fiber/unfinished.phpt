--TEST--
A Fiber that is never finished is unwound at the end: finally blocks and destructors run
--FILE--
<?php
class D { function __destruct() { echo "destructor\n"; } }
$fiber = new Fiber(function () {
    $d = new D;
    try {
        Fiber::suspend();
        echo "never\n";
    } catch (Throwable $e) {
        echo "not even this\n";
    } finally {
        echo "finally\n";
    }
});
$fiber->start();
unset($fiber);
echo "unset\n";
$kept = new Fiber(function () { try { Fiber::suspend(); } finally { echo "kept finally\n"; } });
$kept->start();
echo "end\n";
--EXPECT--
finally
destructor
unset
end
kept finally

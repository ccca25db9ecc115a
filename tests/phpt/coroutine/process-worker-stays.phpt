--TEST--
Only a helper can ask to be killed with its parent
--WEFT-ONLY--
--FILE--
<?php
use Weft\Process;

try {
    Weft\Internal\end_with_parent(1); // would kill this process at once
} catch (Error $error) {
    echo $error->getMessage(), "\n";
}
echo Process::run(fn (): string => 'a helper ran'), "\n";
?>
--EXPECT--
Weft\Internal\end_with_parent() is for a forked child
a helper ran

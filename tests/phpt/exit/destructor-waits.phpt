--TEST--
A destructor may wait
--FILE--
<?php
class D { function __destruct() { usleep(1000); echo "waited\n"; } }
$d = new D;
unset($d);
$e = new D;
echo "end\n";
--EXPECT--
waited
end
waited

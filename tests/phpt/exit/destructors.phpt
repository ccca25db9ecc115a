--TEST--
Destructors run at the end: globals after shutdown functions
--FILE--
<?php
class D {
    public $self;
    function __construct(private string $name) {}
    function __destruct() { echo "~{$this->name}\n"; }
}
register_shutdown_function(function () { echo "shutdown\n"; });
$a = new D('a');
$b = new D('b');
function local() { $l = new D('local'); echo "in function\n"; }
local();
new D('temporary');
$a = null;
$cycle = new D('cycle');
$cycle->self = $cycle;
unset($cycle);
var_dump(gc_collect_cycles());
$c = new D('c');
echo "end\n";
--EXPECT--
in function
~local
~temporary
~a
~cycle
int(1)
end
shutdown
~c
~b

--TEST--
A lazy object that several coroutines share: its initializer waits, and the others meet it in the middle
--PHP--
>= 8.4
--WEFT-ONLY--
--FILE--
<?php
use function Weft\go;

class Row
{
    public ?int $id = null;
    public string $name = 'not yet';
}

$runs = 0;
$class = new ReflectionClass(Row::class);
$ghost = $class->newLazyGhost(function (Row $row) use (&$runs): void {
    $runs++;
    $row->id = 1;
    usleep(5000);
    $row->name = 'whole';
});
$first = go(fn () => $ghost->name);
$second = go(fn () => $ghost->name);
// While the initializer runs the object counts as initialized, as for code that the initializer calls itself.
echo $first->await(), ', ', $second->await(), ', ', $ghost->name, ", $runs run\n";

// A wait in an initializer that is cut short makes the object lazy again.
$attempts = 0;
$again = $class->newLazyGhost(function (Row $row) use (&$attempts): void {
    if (++$attempts === 1) {
        usleep(5_000_000);
    }
    $row->name = 'at last';
});
try {
    Weft\timeout(0.01, fn () => $again->name);
} catch (Weft\TimeoutException) {
    echo $class->isUninitializedLazyObject($again) ? 'lazy' : 'half', "\n";
}
echo $again->name, ", $attempts attempts\n";
--EXPECT--
whole, not yet, whole, 1 run
lazy
at last, 2 attempts

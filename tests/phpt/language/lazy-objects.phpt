--TEST--
Lazy objects whose initializers and factories wait
--PHP--
>= 8.4
--FILE--
<?php
class Row
{
    public int $id;
    public string $name;

    public function __construct(int $id)
    {
        usleep(2000);
        $this->id = $id;
        $this->name = "row $id";
    }
}

$class = new ReflectionClass(Row::class);
$ghost = $class->newLazyGhost(function (Row $row): void {
    usleep(2000);
    $row->__construct(1);
});
$proxy = $class->newLazyProxy(function (): Row {
    usleep(2000);

    return new Row(2);
});
var_dump($class->isUninitializedLazyObject($ghost));
echo $ghost->name, "\n", $proxy->name, "\n";
var_dump($class->isUninitializedLazyObject($ghost));

// An initializer that fails leaves the object lazy, and the next access tries again.
$attempts = 0;
$late = $class->newLazyGhost(function (Row $row) use (&$attempts): void {
    usleep(1000);
    if (++$attempts === 1) {
        throw new RuntimeException('not yet');
    }
    $row->__construct(3);
});
try {
    echo $late->id;
} catch (RuntimeException $e) {
    echo $e->getMessage(), "\n";
}
echo $late->id, "\n";

// Cloned, iterated, serialized, compared: each initializes.
$made = fn (int $id) => $class->newLazyGhost(function (Row $row) use ($id): void {
    usleep(500);
    $row->__construct($id);
});
echo (clone $made(4))->name, "\n";
foreach ($made(5) as $name => $value) {
    echo "$name=$value ";
}
echo "\n", serialize($made(6)), "\n";
var_dump($made(7) == $made(7));
// One that nobody looked at ends without its initializer.
unset($ghost);
$never = $class->newLazyGhost(fn () => print "never\n");
unset($never);
--EXPECT--
bool(true)
row 1
row 2
bool(false)
not yet
3
row 4
id=5 name=row 5 
O:3:"Row":2:{s:2:"id";i:6;s:4:"name";s:5:"row 6";}
bool(true)

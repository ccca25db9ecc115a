--TEST--
Property hooks of one object that wait in several coroutines: PHP's guard against recursion is each coroutine's own
--PHP--
>= 8.4
--WEFT-ONLY--
--FILE--
<?php
use function Weft\go;

class Shared
{
    public string $name = 'booted' {
        get {
            usleep(random_int(100, 2000));

            return "<$this->name>";
        }
        set {
            usleep(random_int(100, 2000));
            $this->name = $value;
        }
    }
}

$shared = new Shared();
$tasks = [];
for ($n = 0; $n < 40; $n++) {
    $tasks[] = go(function () use ($shared, $n): bool {
        if ($n % 4 === 0) {
            $shared->name = "of $n";

            return true;
        }

        return (bool) preg_match('/^<(booted|of \d+)>$/', $shared->name);
    });
}
echo count(array_filter(array_map(fn ($task) => $task->await(), $tasks))), " saw whole values\n";
--EXPECT--
40 saw whole values

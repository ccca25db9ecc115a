--TEST--
A connector made of functions needs only one; without a check it gives up what has failed
--LIBRARY--
--FILE--
<?php
use Weft\Pool;
use Weft\Pool\CallableConnector;
use Weft\Pool\PoolException;

$resource = new ArrayObject(['good' => true]);
$plain = new CallableConnector(fn () => $resource);
$whole = new CallableConnector(
    fn () => $resource,
    fn (ArrayObject $one): bool => $one['good'],
    fn (ArrayObject $one): bool => $one->offsetExists('good'),
);
foreach ([$plain, $whole] as $connector) {
    $one = $connector->connect();
    echo json_encode([$connector->healthy($one), $connector->reset($one), $connector->broken($one, new Exception())]), "\n";
    $connector->close($one);
}
$resource['good'] = false;
echo json_encode([$whole->healthy($resource), $whole->reset($resource), $whole->broken($resource, new Exception())]), "\n";

// What cannot be reset, and what a failure has broken, is replaced.
$made = 0;
$pool = new Pool(new CallableConnector(
    function () use (&$made): object {
        return (object) ['number' => ++$made, 'clean' => true];
    },
    reset: fn (object $one): bool => $one->clean,
), max: 1, name: 'things');
$pool->with(fn (object $one) => $one->clean = false);
try {
    $pool->with(fn (object $one) => throw new DomainException("number $one->number failed"));
} catch (DomainException $failure) {
    echo $failure->getMessage(), "\n";
}
$one = $pool->acquire();
echo "number $one->number, ", json_encode(array_intersect_key($pool->metrics(), ['created' => 0, 'discarded' => 0, 'in_use' => 0])), "\n";
$pool->release($one);
try {
    $pool->discard($one);
} catch (PoolException $error) {
    echo $error->getMessage(), "\n";
}
try {
    new Pool(fn () => new stdClass(), max: 1, min: 2, name: 'things');
} catch (ValueError $error) {
    echo $error->getMessage(), "\n";
}
--EXPECT--
[true,true,true]
[true,true,false]
[false,true,true]
number 2 failed
number 3, {"in_use":1,"created":3,"discarded":2}
Pool things: this is not in use, so it cannot be returned (returned twice?)
Pool things: 0 <= min <= max and max >= 1 are needed, not min 2 and max 1

--TEST--
Failures that blame the data stay, failures of a server pass, others are unknown
--LIBRARY--
--FILE--
<?php
use Weft\Queue\Failure;

function sqlstate(string $state): PDOException
{
    $failure = new PDOException('message');
    (new ReflectionProperty(Exception::class, 'code'))->setValue($failure, $state);

    return $failure;
}

foreach (['23000', '22001', '21000', 'HY000', '08S01', '40001'] as $state) {
    echo "$state ", json_encode(Failure::isPermanent(sqlstate($state))), "\n";
}
foreach ([new ValueError(), new TypeError(), new JsonException(), new RuntimeException(), new Error()] as $failure) {
    echo get_class($failure), ' ', json_encode(Failure::isPermanent($failure)), "\n";
}
--EXPECT--
23000 true
22001 true
21000 true
HY000 false
08S01 false
40001 false
ValueError true
TypeError true
JsonException true
RuntimeException null
Error null

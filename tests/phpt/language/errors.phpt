--TEST--
Warnings, silenced warnings, error handlers, error_get_last
--FILE--
<?php
echo $undefined;
@file_get_contents('/no/such/file');
echo error_get_last()['message'], "\n";
error_clear_last();
var_dump(error_get_last());
set_error_handler(function (int $type, string $message, string $file, int $line) {
    throw new ErrorException($message, 0, $type, $file, $line);
});
try {
    $array = [];
    $array['missing'];
} catch (ErrorException $e) {
    echo $e->getMessage(), ' on line ', $e->getLine(), "\n";
}
restore_error_handler();
echo 1 <=> [], "\n";
try {
    strlen();
} catch (ArgumentCountError $e) {
    echo $e->getMessage(), "\n";
}
--EXPECTF--

Warning: Undefined variable $undefined in %s on line 2
file_get_contents(/no/such/file): Failed to open stream: No such file or directory
NULL
Undefined array key "missing" on line 12
-1
strlen() expects exactly 1 argument, 0 given

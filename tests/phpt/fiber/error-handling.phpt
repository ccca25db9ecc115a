--TEST--
Error reporting and silence belong to the Fiber that set them
--FILE--
<?php
set_error_handler(function ($type, $message) { echo "handled: $message\n"; return true; });
$fiber = new Fiber(function () {
    trigger_error('one');
    $quiet = @Fiber::suspend();
    trigger_error('two');
});
$fiber->start();
trigger_error('main');
$fiber->resume();
echo error_get_last() === null ? 'nothing' : 'something', " left\n";
--EXPECT--
handled: one
handled: main
handled: two
nothing left

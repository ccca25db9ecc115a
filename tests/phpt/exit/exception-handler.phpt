--TEST--
set_exception_handler() gets the exception
--FILE--
<?php
set_exception_handler(function (Throwable $e) { echo get_class($e), ': ', $e->getMessage(), "\n"; });
register_shutdown_function(function () { echo "shutdown\n"; });
intdiv(1, 0);
--EXPECT--
DivisionByZeroError: Division by zero
shutdown

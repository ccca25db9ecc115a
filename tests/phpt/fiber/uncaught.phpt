--TEST--
An exception that nobody catches in a Fiber ends the script
--FILE--
<?php
$fiber = new Fiber(function () { usleep(100); throw new DomainException('deep'); });
$fiber->start();
--EXITCODE--
255
--EXPECTF--
%AFatal error: Uncaught DomainException: deep in %s:2
Stack trace:
#0 [internal function]: {closure%S}()
#1 %s(3): Fiber->start()
#2 {main}
  thrown in %s on line 2

--TEST--
Text outside of PHP tags is output
--FILE--
before
<?php $x = 'in between'; ?>
<?= $x ?>

after
--EXPECT--
before
in between
after

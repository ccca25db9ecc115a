--TEST--
exit() inside an included file inside a function ends everything
--FILE--
<?php
file_put_contents(__DIR__ . '/inner.php', '<?php echo "inner\n"; exit(3);');
function run(): void { include __DIR__ . '/inner.php'; echo "never\n"; }
array_map(fn () => run(), [1, 2]);
--EXITCODE--
3
--EXPECT--
inner

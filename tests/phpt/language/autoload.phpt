--TEST--
Autoloaders that wait, chain, and fail
--FILE--
<?php
spl_autoload_register(function ($class) {
    echo "[$class]";
    usleep(100);
    if ($class === 'Base') { eval('class Base { const X = 1; }'); }
});
spl_autoload_register(function ($class) {
    if ($class === 'Child') { eval('class Child extends Base {}'); }
});
echo Child::X, "\n";
var_dump(class_exists('Nope'), class_exists('Nope2', false));
try {
    new Missing;
} catch (Error $e) {
    echo $e->getMessage(), "\n";
}
--EXPECT--
[Child][Base]1
[Nope]bool(false)
bool(false)
[Missing]Class "Missing" not found

--TEST--
WeakMap and WeakReference across waits and collections
--FILE--
<?php
$map = new WeakMap;
$object = new stdClass;
$map[$object] = 'data';
$reference = WeakReference::create($object);
usleep(100);
gc_collect_cycles();
var_dump(count($map), $reference->get() === $object);
unset($object);
usleep(100);
var_dump(count($map), $reference->get());
--EXPECT--
int(1)
bool(true)
int(0)
NULL

<?php
/**
 * Prints the C argument information of the classes in weft.php, by reflection: `php generate.php > weft_arginfo.h`.
 */

declare(strict_types=1);

require __DIR__ . '/weft.php';

/** The C macro for a parameter or return type. */
function type_mask(?ReflectionType $type): ?string
{
    if (!$type instanceof ReflectionNamedType) {
        return null;
    }
    $masks = [
        'string' => 'MAY_BE_STRING', 'int' => 'MAY_BE_LONG', 'float' => 'MAY_BE_DOUBLE', 'bool' => 'MAY_BE_BOOL',
        'array' => 'MAY_BE_ARRAY', 'mixed' => 'MAY_BE_ANY', 'void' => 'MAY_BE_VOID',
    ];
    $mask = $masks[$type->getName()] ?? throw new LogicException("no C type for {$type->getName()}");
    return $type->allowsNull() && $type->getName() !== 'mixed' ? "$mask|MAY_BE_NULL" : $mask;
}

/** A default value as PHP source, in a C string. */
function default_of(ReflectionParameter $parameter): string
{
    if (!$parameter->isOptional()) {
        return 'NULL';
    }
    $value = $parameter->getDefaultValue();
    return '"' . addcslashes($value === null ? 'null' : var_export($value, true), '"\\') . '"';
}

function arginfo(string $c, ReflectionMethod $method): string
{
    $required = $method->getNumberOfRequiredParameters();
    $mask = type_mask($method->getReturnType());
    $out = $mask === null
        ? "ZEND_BEGIN_ARG_INFO_EX(arginfo_$c, 0, 0, $required)\n"
        : "ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_$c, 0, $required, $mask)\n";
    foreach ($method->getParameters() as $parameter) {
        $out .= sprintf("\tZEND_ARG_TYPE_MASK(0, %s, %s, %s)\n", $parameter->getName(),
            type_mask($parameter->getType()), default_of($parameter));
    }
    return $out . "ZEND_END_ARG_INFO()\n\n";
}

$classes = array_filter(get_declared_classes(), fn ($class) => (new ReflectionClass($class))->getFileName() === __DIR__ . '/weft.php');
$out = "/* Generated from php/stubs/weft.php by php/stubs/generate.php: do not edit. */\n\n";
foreach ($classes as $name) {
    $class = new ReflectionClass($name);
    $prefix = str_replace('\\', '_', $name);
    $table = '';
    foreach ($class->getMethods() as $method) {
        $c = "class_{$prefix}_{$method->getName()}";
        $out .= arginfo($c, $method) . "ZEND_METHOD($prefix, {$method->getName()});\n\n";
        $flags = ($method->isPrivate() ? 'ZEND_ACC_PRIVATE' : 'ZEND_ACC_PUBLIC') . ($method->isStatic() ? '|ZEND_ACC_STATIC' : '');
        $table .= "\tZEND_ME($prefix, {$method->getName()}, arginfo_$c, $flags)\n";
    }
    $escaped = addcslashes($class->getNamespaceName(), '\\');
    $out .= "static const zend_function_entry class_{$prefix}_methods[] = {\n$table\tZEND_FE_END\n};\n\n"
        . "static inline zend_class_entry *register_class_$prefix(void)\n{\n\tzend_class_entry entry;\n"
        . "\tINIT_NS_CLASS_ENTRY(entry, \"$escaped\", \"{$class->getShortName()}\", class_{$prefix}_methods);\n"
        . "\tzend_class_entry *registered = zend_register_internal_class_ex(&entry, NULL);\n"
        . "\tregistered->ce_flags |= ZEND_ACC_FINAL | ZEND_ACC_NO_DYNAMIC_PROPERTIES | ZEND_ACC_NOT_SERIALIZABLE;\n"
        . "\treturn registered;\n}\n\n";
}
echo rtrim($out), "\n";

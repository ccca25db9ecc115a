<?php

/**
 * Prints the C argument information of the functions and classes in weft.php and locks.php, by reflection: `php generate.php > weft_arginfo.h`.
 */

declare(strict_types=1);

require __DIR__ . '/weft.php';
require __DIR__ . '/locks.php';

const MASKS = [
    'string' => 'MAY_BE_STRING',
    'int' => 'MAY_BE_LONG',
    'float' => 'MAY_BE_DOUBLE',
    'bool' => 'MAY_BE_BOOL',
    'array' => 'MAY_BE_ARRAY',
    'mixed' => 'MAY_BE_ANY',
    'void' => 'MAY_BE_VOID',
    'callable' => 'MAY_BE_CALLABLE',
    'object' => 'MAY_BE_OBJECT',
    'null' => 'MAY_BE_NULL',
];

/**
 * A parameter or return type as C has it: a mask, and a class if one is named. iterable is array|Traversable
 * (Zend/zend_compile.c, zend_compile_single_typename).
 *
 * @return ?array{string, ?string}
 */
function c_type(?ReflectionType $type): ?array
{
    if ($type === null) {
        return null;
    }
    $masks = [];
    $class = null;
    foreach ($type instanceof ReflectionUnionType ? $type->getTypes() : [$type] as $part) {
        if (!$part instanceof ReflectionNamedType) {
            throw new LogicException("no C type for $type");
        }
        $name = $part->getName();
        if ($name === 'iterable') {
            $masks[] = 'MAY_BE_ARRAY';
            $class = 'Traversable';
        } elseif (isset(MASKS[$name])) {
            $masks[] = MASKS[$name];
        } elseif ($class === null && !$part->isBuiltin()) {
            $class = $name;
        } else {
            throw new LogicException("no C type for $type");
        }
    }
    if ($type->allowsNull() && (string) $type !== 'mixed') {
        $masks[] = 'MAY_BE_NULL';
    }

    return [implode('|', array_unique($masks)) ?: '0', $class];
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

function parameter(ReflectionParameter $parameter): string
{
    [$mask, $class] = c_type($parameter->getType()) ?? throw new LogicException("a parameter without a type: $parameter");
    $name = $parameter->getName();
    if ($parameter->isVariadic()) { // there is no macro for any other type
        return $mask === 'MAY_BE_ANY'
            ? "\tZEND_ARG_VARIADIC_TYPE_INFO(0, $name, IS_MIXED, 0)\n"
            : throw new LogicException("a variadic parameter of type $mask");
    }

    return $class === null
        ? sprintf("\tZEND_ARG_TYPE_MASK(0, %s, %s, %s)\n", $name, $mask, default_of($parameter))
        : sprintf("\tZEND_ARG_OBJ_TYPE_MASK(0, %s, %s, %s, %s)\n", $name, addslashes($class), $mask, default_of($parameter));
}

function arginfo(string $c, ReflectionFunctionAbstract $function): string
{
    $required = $function->getNumberOfRequiredParameters();
    $type = c_type($function->getReturnType());
    $out = match (true) {
        $type === null => "ZEND_BEGIN_ARG_INFO_EX(arginfo_$c, 0, 0, $required)\n",
        $type[1] === null => "ZEND_BEGIN_ARG_WITH_RETURN_TYPE_MASK_EX(arginfo_$c, 0, $required, $type[0])\n",
        default => sprintf(
            "ZEND_BEGIN_ARG_WITH_RETURN_OBJ_TYPE_MASK_EX(arginfo_%s, 0, %d, %s, %s)\n",
            $c,
            $required,
            addslashes($type[1]),
            $type[0],
        ),
    };

    return $out . implode(array_map(parameter(...), $function->getParameters())) . "ZEND_END_ARG_INFO()\n";
}

function registration(ReflectionClass $class, string $prefix): string
{
    $escaped = addcslashes($class->getNamespaceName(), '\\');
    $flags = $class->isFinal() ? 'ZEND_ACC_FINAL | ZEND_ACC_NO_DYNAMIC_PROPERTIES | ZEND_ACC_NOT_SERIALIZABLE' : '0';

    return (
        "static inline zend_class_entry *register_class_$prefix(zend_class_entry *parent)\n{\n\tzend_class_entry entry;\n"
        . "\tINIT_NS_CLASS_ENTRY(entry, \"$escaped\", \"{$class->getShortName()}\", class_{$prefix}_methods);\n"
        . "\tzend_class_entry *registered = zend_register_internal_class_ex(&entry, parent);\n"
        . "\tregistered->ce_flags |= $flags;\n\treturn registered;\n}\n\n"
    );
}

$files = [__DIR__ . '/weft.php', __DIR__ . '/locks.php'];
$here = fn (ReflectionClass|ReflectionFunction $one) => in_array($one->getFileName(), $files, true);
$functions = array_filter(array_map(fn ($name) => new ReflectionFunction($name), get_defined_functions()['user']), $here);
$classes = array_filter(array_map(fn ($name) => new ReflectionClass($name), get_declared_classes()), $here);
$out = "/* Generated from php/stubs/weft.php and locks.php by php/stubs/generate.php: do not edit. */\n\n";
$table = '';
foreach ($functions as $function) {
    $namespace = $function->getNamespaceName();
    $c = strtr($namespace, '\\', '_') . "_{$function->getShortName()}";
    $out .= arginfo($c, $function) . "ZEND_FUNCTION($c);\n\n";
    $escaped = addcslashes($namespace, '\\');
    $table .= "\tZEND_NS_FALIAS(\"$escaped\", {$function->getShortName()}, $c, arginfo_$c)\n";
}
$out .= "static const zend_function_entry weft_functions[] = {\n$table\tZEND_FE_END\n};\n\n";
foreach ($classes as $class) {
    $prefix = strtr($class->getName(), '\\', '_');
    $table = '';
    foreach ($class->getMethods() as $method) {
        if (!$here($method->getDeclaringClass())) {
            continue;
        }
        $c = "class_{$prefix}_{$method->getName()}";
        $out .= arginfo($c, $method) . "ZEND_METHOD($prefix, {$method->getName()});\n\n";
        $flags = ($method->isPrivate() ? 'ZEND_ACC_PRIVATE' : 'ZEND_ACC_PUBLIC') . ($method->isStatic() ? '|ZEND_ACC_STATIC' : '');
        $table .= "\tZEND_ME($prefix, {$method->getName()}, arginfo_$c, $flags)\n";
    }
    $out .= "static const zend_function_entry class_{$prefix}_methods[] = {\n$table\tZEND_FE_END\n};\n\n" . registration($class, $prefix);
}
echo rtrim($out), "\n";

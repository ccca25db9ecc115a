<?php

// The same names in every file, with other bodies: each instance loads one of them.
const SAME_CONSTANT = 'constant 0';

function same_function(): string
{
    return 'function 0';
}

class SameClass
{
    public const NAME = 'class 0';
    public static int $count = 0;
}

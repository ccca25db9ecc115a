<?php

// The same names in every file, with other bodies: each instance loads one of them.
const SAME_CONSTANT = 'constant 2';

function same_function(): string
{
    return 'function 2';
}

class SameClass
{
    public const NAME = 'class 2';
    public static int $count = 0;
}

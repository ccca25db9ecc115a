<?php

// The same names in every file, with other bodies: each instance loads one of them.
const SAME_CONSTANT = 'constant 1';

function same_function(): string
{
    return 'function 1';
}

class SameClass
{
    public const NAME = 'class 1';
    public static int $count = 0;
}

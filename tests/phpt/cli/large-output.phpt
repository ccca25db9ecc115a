--TEST--
More output than a pipe holds arrives whole
--FILE--
<?php
for ($i = 0; $i < 2000; $i++) {
    echo str_repeat(chr(97 + $i % 26), 99), "\n";
}
--EXPECTF--
aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
%A
xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx

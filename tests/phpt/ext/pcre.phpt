--TEST--
Regular expressions, with callbacks that wait and with the JIT
--FILE--
<?php
preg_match_all('/(?<word>\pL+)-(\d+)/u', 'foo-1, bär-22', $m, PREG_SET_ORDER);
echo $m[1]['word'], $m[1][2], "\n";
echo preg_replace_callback('/\d+/', function ($m) { usleep(50); return preg_replace('/1/', 'I', $m[0] * 2); }, 'a5 b21'), "\n";
echo implode('|', preg_split('/[\s,]+/', "a, b  c,d", 3)), "\n";
var_dump(preg_match('/(?:\D+|<\d+>)*[!?]/', str_repeat('foobar ', 1000)), preg_last_error_msg(), ini_get('pcre.jit'));
var_dump(@preg_match('/(/', 'x'), preg_quote('a.b*c'));
--EXPECT--
bär22
aI0 b42
a|b|c,d
bool(false)
string(25) "Backtrack limit exhausted"
string(1) "1"
bool(false)
string(7) "a\.b\*c"

--TEST--
ini settings: -d, ini_set, ini_get_all, ini_restore, refusals
--INI--
precision=5
user_agent=weft
--FILE--
<?php
var_dump(ini_get('precision'), ini_get('user_agent'), 1 / 3);
var_dump(ini_set('precision', '3'), 1 / 3, ini_get_all('pcre')['pcre.jit']['access'], ini_set('no.such', 1), ini_set('allow_url_include', 1));
ini_restore('precision');
var_dump(ini_get('precision'), set_include_path('/x') !== false, ini_get('include_path'));
setlocale(LC_ALL, 'C');
date_default_timezone_set('Asia/Tokyo');
echo date('e'), ' ', ini_get('date.timezone'), "\n";
--EXPECTF--
string(1) "5"
string(4) "weft"
float(%f)
string(1) "5"
float(%f)
int(7)
bool(false)
bool(false)
string(1) "5"
bool(true)
string(2) "/x"
Asia/Tokyo UTC

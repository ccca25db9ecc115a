--TEST--
JSON: flags, errors, exceptions, callbacks that fail
--FILE--
<?php
var_dump(json_decode('{"a":'), json_last_error(), json_last_error_msg());
json_decode('{}');
var_dump(json_last_error());
var_dump(json_encode("\xff"), json_last_error() === JSON_ERROR_UTF8, json_encode("\xff", JSON_INVALID_UTF8_SUBSTITUTE));
try {
    json_decode('[[1]]', flags: JSON_THROW_ON_ERROR, depth: 1);
} catch (JsonException $e) {
    echo $e->getMessage(), "\n";
}
echo json_encode(['a/b' => 1.0, 'ü' => [], 'o' => new stdClass], JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE | JSON_PRESERVE_ZERO_FRACTION), "\n";
class J implements JsonSerializable { function jsonSerialize(): mixed { usleep(10); json_encode("\xff"); throw new Exception('inner'); } }
try { json_encode([new J]); } catch (Exception $e) { echo get_class($e), ' ', $e->getMessage(), "\n"; }
--EXPECT--
NULL
int(4)
string(12) "Syntax error"
int(0)
bool(false)
bool(true)
string(8) ""\ufffd""
Maximum stack depth exceeded
{"a/b":1.0,"ü":[],"o":{}}
Exception inner

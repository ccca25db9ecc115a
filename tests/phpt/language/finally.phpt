--TEST--
finally with waits, returns that override, nested exceptions
--FILE--
<?php
function f() { try { usleep(10); return 'try'; } finally { usleep(10); echo 'finally '; } }
function g() { try { throw new Exception('lost'); } finally { usleep(10); return 'override'; } }
function h() {
    foreach ([1, 2, 3] as $i) {
        try { if ($i === 2) { continue; } echo $i; } finally { usleep(10); echo '.'; }
    }
}
echo f(), ' ', g(), ' ';
h();
try {
    try { throw new Exception('a'); } finally { usleep(10); throw new Exception('b'); }
} catch (Exception $e) {
    echo ' ', $e->getMessage(), $e->getPrevious()->getMessage(), "\n";
}
--EXPECT--
finally try override 1..3. ba

--TEST--
Seeded random numbers and hashes are those of php
--FILE--
<?php
mt_srand(42);
usleep(10);
echo mt_rand(), ' ', mt_rand(1, 100), ' ', implode(array_map(fn () => random_int(0, 0), range(1, 3))), "\n";
srand(5); echo rand(1, 1000), ' ', implode(',', (function () { $a = range(1, 5); shuffle($a); return $a; })()), "\n";
$h = hash_init('sha256');
hash_update($h, 'a'); usleep(10); hash_update($h, 'bc');
echo hash_final($h), ' ', md5('x'), ' ', crc32('x'), "\n";
var_dump(password_verify('secret', password_hash('secret', PASSWORD_BCRYPT, ['cost' => 4])), strlen(random_bytes(8)));
--EXPECTF--
%d %d 000
%d %s
ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad 9dd4e461268c8034f5c8564e155c67a6 2363233923
bool(true)
int(8)

--TEST--
Files: read, write, append, seek, truncate, stat, directories, glob
--FILE--
<?php
chdir(__DIR__);
file_put_contents('a.txt', "one\ntwo\nthree\n", LOCK_EX);
file_put_contents('a.txt', "four\n", FILE_APPEND);
$f = fopen('a.txt', 'r+');
fseek($f, -5, SEEK_END);
echo fgets($f), ftell($f), ' ', count(file('a.txt')), ' ';
ftruncate($f, 4);
rewind($f);
echo stream_get_contents($f), filesize('a.txt'), "\n";
mkdir('d/e', 0777, true);
touch('d/x.log'); touch('d/e/y.log');
$it = new RecursiveIteratorIterator(new RecursiveDirectoryIterator('d', FilesystemIterator::SKIP_DOTS));
$names = array_map(fn ($file) => $file->getPathname(), iterator_to_array($it, false));
sort($names);
echo implode(' ', $names), ' ', implode(' ', glob('d/*.log')), "\n";
var_dump(rename('a.txt', 'b.txt'), is_file('a.txt'), copy('b.txt', 'c.txt'), unlink('c.txt'), @rmdir('d'));
echo basename(getcwd()) === basename(__DIR__) ? 'here' : 'elsewhere', ' ', substr(sprintf('%o', fileperms('d')), -3), "\n";
--EXPECT--
four
19 4 one
4
d/e/y.log d/x.log d/x.log
bool(true)
bool(false)
bool(true)
bool(true)
bool(false)
here 755

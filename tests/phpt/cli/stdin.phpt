--TEST--
STDIN, php://stdin and file('php://stdin') read what is piped in
--STDIN--
first line
second line
third line
fourth
--FILE--
<?php
echo 'got ', fgets(STDIN);
fscanf(STDIN, '%s %s', $a, $b);
echo "$b $a\n";
echo stream_get_contents(STDIN);
var_dump(feof(STDIN));
--EXPECT--
got first line
line second
third line
fourth
bool(true)

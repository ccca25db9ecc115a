--TEST--
echo, STDOUT, php://stdout and php://output come out in the order they were written
--FILE--
<?php
echo "1\n";
fwrite(STDOUT, "2\n");
file_put_contents('php://stdout', "3\n");
file_put_contents('php://output', "4\n");
print "5\n";
printf("%d\n", 6);
fwrite(STDERR, "not here\n");
--EXPECT--
1
2
3
4
5
6

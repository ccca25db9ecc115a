--TEST--
A first line that starts with #! is skipped
--FILE--
#!/usr/bin/env php
<?php
echo __LINE__, "\n";
--EXPECT--
3

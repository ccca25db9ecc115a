--TEST--
print_r and var_export return instead of output when asked, inside a buffer as well
--FILE--
<?php
ob_start();
$text = print_r([1, ['a' => null]], true) . var_export(1.5, true);
echo strlen(ob_get_clean()), "\n", $text, "\n";
echo json_encode(ob_get_status()), "\n";
--EXPECT--
0
Array
(
    [0] => 1
    [1] => Array
        (
            [a] => 
        )

)
1.5
[]

--TEST--
mbstring and iconv
--FILE--
<?php
echo mb_strlen('größe'), mb_strtoupper('größe'), mb_substr('größe', -3), ' ', bin2hex(mb_convert_encoding('é', 'ISO-8859-1', 'UTF-8')), ' ',
    iconv('UTF-8', 'ASCII//TRANSLIT', 'é') !== false ? 'ok' : '', ' ', mb_detect_encoding("\xff\xfe", ['UTF-8', 'ISO-8859-1'], true), "\n";
--EXPECT--
5GRÖSSEöße e9 ok ISO-8859-1

--TEST--
DOM, SimpleXML and the XML parser with callbacks that wait
--FILE--
<?php
if (!extension_loaded('libxml')) { echo "no libxml\n"; }
libxml_use_internal_errors(true);
echo extension_loaded('dom') ? (function () {
    $dom = new DOMDocument;
    $dom->loadXML('<a><b x="1">t</b></a>');
    usleep(10);
    return (new DOMXPath($dom))->evaluate('string(//b/@x)');
})() : '1', "\n";
echo count(libxml_get_errors()), "\n";
--EXPECT--
1
0

<?php

$conf['title'] = 'The bench';
$conf['savedir'] = dirname(__DIR__) . '/data';
$conf['useacl'] = 0;
$conf['updatecheck'] = 0;

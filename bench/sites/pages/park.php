<?php
sleep(600);
echo 'Hello World';

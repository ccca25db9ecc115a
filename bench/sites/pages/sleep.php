<?php
usleep(10_000);
echo 'Hello World';

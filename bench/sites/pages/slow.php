<?php
// The endpoint that waits for a slow service.
sleep(2);
echo 'Hello World';

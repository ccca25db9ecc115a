<?php
usleep((int) ($_GET['us'] ?? 1000));
echo 'Hello World';

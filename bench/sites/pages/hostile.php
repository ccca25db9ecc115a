<?php
echo count($_GET), count($_COOKIE), count($_POST), count($_FILES), count($_SERVER);

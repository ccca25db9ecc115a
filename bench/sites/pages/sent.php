<?php
echo str_pad(($_GET['id'] ?? '') . ' ', 1 << 20, 'x');

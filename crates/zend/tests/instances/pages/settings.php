<?php

declare(strict_types=1);

// Changes settings that lie in many places, and finds them unchanged after each wait.
$n = (int) $_GET['n'];
$wanted = ['precision' => (string) (5 + $n), 'user_agent' => "agent $n", 'default_socket_timeout' => (string) (60 + $n), 'arg_separator.output' => ";$n",
    'assert.callback' => "f$n", 'auto_detect_line_endings' => '', 'default_mimetype' => "text/$n", 'error_append_string' => "e$n",
    'docref_root' => "/$n/", 'unserialize_max_depth' => (string) (100 + $n)];
foreach ($wanted as $name => $value) {
    @ini_set($name, $value);
}
$right = true;
for ($i = 0; $i < 5; $i++) {
    usleep(1000 + $n * 37 % 2000);
    foreach ($wanted as $name => $value) {
        $right = $right && ini_get($name) === $value;
    }
}
echo $right ? "calm $n" : "wrong $n";

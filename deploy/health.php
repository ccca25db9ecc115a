<?php
// Whether the server of this container answers: exit code 0 if it does, with anything but a server error (5xx).
// HEALTH_PATH is the path that is asked for, WEFT_LISTEN's port the one that is called.

$port = preg_match('/:(\d+)$/', (string) getenv('WEFT_LISTEN'), $match) ? $match[1] : '8080';
$context = stream_context_create(['http' => ['timeout' => 4, 'ignore_errors' => true, 'follow_location' => 0]]);
$body = @file_get_contents("http://127.0.0.1:$port" . (getenv('HEALTH_PATH') ?: '/'), false, $context);
$status = (int) (explode(' ', $http_response_header[0] ?? '')[1] ?? 0);
if ($body === false || $status < 200 || $status >= 500) {
    echo $status === 0 ? "no answer\n" : "answered $status\n";
    exit(1);
}

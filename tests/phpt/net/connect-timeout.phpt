--TEST--
Time-outs of connecting: stream_socket_client(), fsockopen(), default_socket_timeout, curl, SO_SNDTIMEO
--FILE--
<?php
// A full queue of length one: further connections are neither accepted nor refused.
$server = socket_create(AF_INET, SOCK_STREAM, SOL_TCP);
socket_bind($server, '127.0.0.1', 0);
socket_listen($server, 0);
socket_getsockname($server, $host, $port);
$waiting = [];
for ($i = 0; $i < 3; $i++) {
    $waiting[] = $socket = socket_create(AF_INET, SOCK_STREAM, SOL_TCP);
    socket_set_nonblock($socket);
    @socket_connect($socket, $host, $port);
}
usleep(100_000);
$timed = function (callable $connect): void {
    $begun = microtime(true);
    $result = $connect();
    $took = microtime(true) - $begun;
    echo $result === false ? 'failed' : 'connected', $took >= 0.19 && $took < 20 ? ' in time' : " after $took s";
};
$timed(function () use ($host, $port, &$error, &$message) {
    return @stream_socket_client("tcp://$host:$port", $error, $message, 0.2);
});
echo ": $message ", $error === SOCKET_ETIMEDOUT ? 'ETIMEDOUT' : $error, "\n";
$timed(function () use ($host, $port, &$error, &$message) {
    return @fsockopen($host, $port, $error, $message, 0.2);
});
echo ": $message\n";
ini_set('default_socket_timeout', '1');
$timed(fn () => @file_get_contents("http://$host:$port/"));
echo "\n";
$curl = curl_init("http://$host:$port/");
curl_setopt_array($curl, [CURLOPT_CONNECTTIMEOUT_MS => 200, CURLOPT_RETURNTRANSFER => true]);
$timed(fn () => curl_exec($curl));
echo ': ', curl_errno($curl), "\n";
$socket = socket_create(AF_INET, SOCK_STREAM, SOL_TCP);
socket_set_option($socket, SOL_SOCKET, SO_SNDTIMEO, ['sec' => 0, 'usec' => 200_000]);
$timed(fn () => @socket_connect($socket, $host, $port));
echo ': ', socket_strerror(socket_last_error($socket)), "\n";
--EXPECT--
failed in time: Connection timed out ETIMEDOUT
failed in time: Connection timed out
failed in time
failed in time: 28
failed in time: Operation now in progress

--TEST--
curl, curl_multi and http streams against a server in a child process
--INI--
error_reporting=E_ALL & ~E_DEPRECATED
--FILE--
<?php
$script = <<<'PHP'
<?php
$server = stream_socket_server('tcp://127.0.0.1:0');
echo stream_socket_get_name($server, false), "\n";
for ($served = 0; $served < 6; $served++) {
    $peer = stream_socket_accept($server, 10);
    $head = '';
    while (($line = fgets($peer)) !== false && $line !== "\r\n") { $head .= $line; }
    preg_match('~^(\w+) (\S+)~', $head, $m);
    preg_match('~content-length: (\d+)~i', $head, $l);
    $body = isset($l[1]) && $l[1] > 0 ? stream_get_contents($peer, (int) $l[1]) : '';
    usleep(5000);
    $text = "$m[1] $m[2] $body";
    $status = $m[2] === '/missing' ? '404 Not Found' : '200 OK';
    fwrite($peer, "HTTP/1.1 $status\r\nContent-Length: " . strlen($text) . "\r\nConnection: close\r\nX-A: b\r\n\r\n$text");
    fclose($peer);
}
PHP;
file_put_contents(__DIR__ . '/server.php', $script);
$server = popen('php ' . escapeshellarg(__DIR__ . '/server.php'), 'r');
$base = 'http://' . trim(fgets($server));
echo file_get_contents("$base/stream"), ' ', $http_response_header[0], "\n";
$context = stream_context_create(['http' => ['method' => 'POST', 'header' => 'Content-Type: text/plain', 'content' => 'a=b', 'ignore_errors' => true]]);
echo file_get_contents("$base/missing", false, $context), ' ', $http_response_header[0], "\n";
$curl = curl_init("$base/curl");
curl_setopt_array($curl, [CURLOPT_RETURNTRANSFER => true, CURLOPT_POSTFIELDS => 'x=y', CURLOPT_HEADERFUNCTION => function ($c, $line) use (&$lines) {
    usleep(10);
    $lines[] = trim($line);
    return strlen($line);
}]);
echo curl_exec($curl), ' ', curl_getinfo($curl, CURLINFO_HTTP_CODE), ' ', in_array('X-A: b', $lines) ? 'header' : '', "\n";
$multi = curl_multi_init();
$handles = [];
foreach (['/1', '/2', '/3'] as $path) {
    $handles[$path] = curl_init($base . $path);
    curl_setopt($handles[$path], CURLOPT_RETURNTRANSFER, true);
    curl_multi_add_handle($multi, $handles[$path]);
}
do {
    $status = curl_multi_exec($multi, $active);
    if ($active) { curl_multi_select($multi); }
} while ($active && $status === CURLM_OK);
foreach ($handles as $handle) { echo trim(curl_multi_getcontent($handle)), ';'; }
echo "\n", pclose($server), "\n";
var_dump(@file_get_contents('http://127.0.0.1:1/'));
--EXPECT--
GET /stream  HTTP/1.1 200 OK
POST /missing a=b HTTP/1.1 404 Not Found
POST /curl x=y 200 header
GET /1;GET /2;GET /3;
0
bool(false)

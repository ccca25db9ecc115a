--TEST--
The PSR-7 implementation that is installed is found, and its responses become weft's
--LIBRARY--
--FILE--
<?php
use Nyholm\Psr7\Response as Psr7Response;
use Nyholm\Psr7\Stream;
use Weft\Psr\Factories;
use Weft\Psr\Handler;

try {
    Factories::installed();
} catch (RuntimeException $none) {
    echo substr($none->getMessage(), 0, 62), "\n";
}
require 'Nyholm/Psr7/autoload.php';
$factories = Factories::installed();
echo get_class($factories->requests), ' ', $factories->uris === $factories->streams ? 'for all' : 'for one', "\n";

$response = Handler::response(new Psr7Response(404, ['X-Many' => ['a', 'b']], 'nothing'));
echo $response->status(), ' ', $response->body(), ' ', json_encode($response->headers()), "\n";
$stream = Stream::create('read from its beginning');
$stream->read(5);
echo Handler::response(new Psr7Response(200, [], $stream))->body(), "\n";
$large = Handler::response(new Psr7Response(200, [], str_repeat('x', (1 << 20) + 1)));
var_dump($large->body()); // it is streamed
--EXPECT--
The application speaks PSR-7, and no implementation was found:
Nyholm\Psr7\Factory\Psr17Factory for all
404 nothing {"X-Many":["a","b"]}
read from its beginning
string(0) ""

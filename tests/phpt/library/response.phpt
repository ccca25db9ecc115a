--TEST--
A Response has a status, headers and a body, and refuses what would break the message
--LIBRARY--
--FILE--
<?php
use Weft\Http\Response;

function refused(callable $work): void
{
    try {
        $work();
        echo "taken\n";
    } catch (Error | JsonException $error) {
        echo get_class($error), ': ', $error->getMessage(), "\n";
    }
}

$response = new Response('body', 201, ['X-One' => 'a', 'X-Many' => ['b', 'c'], 'X-Number' => 5]);
echo json_encode([$response->status(), $response->body(), $response->headers(), $response->header('x-MANY'), $response->header('none')]), "\n";
$same = $response->setStatus(404)->setHeader('x-many', 'd')->addHeader('X-Many', 'e');
var_dump($same === $response);
echo json_encode([$response->status(), $response->headers()]), "\n";
foreach ([199, 600] as $status) {
    refused(fn () => $response->setStatus($status));
}
foreach (['bad name', '', "X\n"] as $name) {
    refused(fn () => $response->setHeader($name, 'x'));
}
foreach (["a\r\nb", "a\0"] as $value) {
    refused(fn () => $response->addHeader('X', $value));
}
echo json_encode([Response::text('t', 500)->headers(), Response::text('t', 500)->status()]), "\n";
echo Response::json(['a/b' => 'ü'])->body(), ' ', Response::json(1)->header('content-type'), "\n";
refused(fn () => Response::json(NAN));
echo Response::redirect('/there')->status(), ' ', Response::redirect('/there', 308)->header('Location'), "\n";
refused(fn () => Response::redirect('/there', 200));
echo Response::file('/tmp/x', "Grüße \"1\".txt")->header('Content-Disposition'), "\n";
var_dump(Response::file('/tmp/x')->header('Content-Disposition'), Response::file('/tmp/x')->body());
foreach ([['a', 'b'], new ArrayIterator(['a']), fn ($writer) => null, 'phpinfo', [new ArrayObject(), 'count']] as $body) {
    echo gettype((new Response($body))->body()), strlen((new Response($body))->body()), ' ';
}
echo "\n", (new Response())->setCookie('a', 'b c')->header('Set-Cookie'), "\n";
echo (new Response())->setCookie('a', 'b', 0, '/p', 'example.org', true, false, '')->header('Set-Cookie'), "\n";
echo preg_replace('/Expires=[^;]+ GMT/', 'Expires=…', (new Response())->setCookie('a', 'b', 60)->header('Set-Cookie')), "\n";
refused(fn () => (new Response())->setCookie('a=', 'b'));
refused(fn () => (new Response())->setCookie('a', 'b', path: '/;'));
--EXPECT--
[201,"body",{"X-One":["a"],"X-Many":["b","c"],"X-Number":["5"]},"b",null]
bool(true)
[404,{"X-One":["a"],"X-Number":["5"],"x-many":["d"],"X-Many":["e"]}]
ValueError: A response needs a status from 200 to 599, not 199
ValueError: A response needs a status from 200 to 599, not 600
ValueError: "bad name" is not a header name
ValueError: "" is not a header name
ValueError: "X
" is not a header name
ValueError: The value of header X contains a line break or NUL
ValueError: The value of header X contains a line break or NUL
[{"Content-Type":["text\/plain; charset=UTF-8"]},500]
{"a/b":"ü"} application/json
JsonException: Inf and NaN cannot be JSON encoded
302 /there
ValueError: A redirect needs a status from 300 to 399, not 200
attachment; filename="Gr____e \"1\".txt"; filename*=UTF-8''Gr%C3%BC%C3%9Fe%20%221%22.txt
NULL
string(0) ""
string0 string0 string0 string7 string0 
a=b%20c; Path=/; HttpOnly; SameSite=Lax
a=b; Expires=Thu, 01 Jan 1970 00:00:01 GMT; Max-Age=0; Path=/p; Domain=example.org; Secure
a=b; Expires=…; Max-Age=60; Path=/; HttpOnly; SameSite=Lax
ValueError: "a=" is not a cookie name
ValueError: A cookie's path, domain and SameSite cannot contain separators

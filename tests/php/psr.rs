//! The same application in coroutine mode and in resident mode: handlers for PSR-7 requests and handlers for
//! weft's own.

use serde_json::{Value, json};
use weft_tests::{Running, Server};

/// The interface of PSR-15, which Debian does not package.
const PSR15: &str = r#"<?php
namespace Psr\Http\Server;

use Psr\Http\Message\{ResponseInterface, ServerRequestInterface};

interface RequestHandlerInterface
{
    public function handle(ServerRequestInterface $request): ResponseInterface;
}
"#;

const APPLICATION: &str = r#"<?php
use Psr\Http\Message\{ResponseFactoryInterface, ResponseInterface, ServerRequestInterface, StreamFactoryInterface, UploadedFileInterface};
use Psr\Http\Server\RequestHandlerInterface;

require __DIR__ . '/psr15.php';

final class Application implements RequestHandlerInterface
{
    private int $handled = 0;

    public function __construct(private ResponseFactoryInterface $responses, private StreamFactoryInterface $streams)
    {
    }

    public function handle(ServerRequestInterface $request): ResponseInterface
    {
        $this->handled++;
        return match ($request->getUri()->getPath()) {
            '/large' => $this->respond(str_repeat('0123456789abcdef', 1 << 18)),
            '/empty' => $this->responses->createResponse(204),
            '/throw' => throw new LogicException('thrown by the application'),
            '/wait' => $this->wait($request),
            default => $this->respond(json_encode($this->facts($request))),
        };
    }

    private function respond(string $body): ResponseInterface
    {
        return $this->responses->createResponse(201)
            ->withHeader('X-List', ['one', 'two'])
            ->withAddedHeader('Set-Cookie', 'a=1')
            ->withAddedHeader('Set-Cookie', 'b=2')
            ->withBody($this->streams->createStream($body));
    }

    private function wait(ServerRequestInterface $request): ResponseInterface
    {
        $query = $request->getUri()->getQuery();
        touch(__DIR__ . "/waits-$query");
        while (count(glob(__DIR__ . '/waits-*')) < 8) {
            usleep(5_000);
        }

        return $this->respond($query . ($request->getUri()->getQuery() === $query ? '' : ' lost'));
    }

    private function facts(ServerRequestInterface $request): array
    {
        return [
            'method' => $request->getMethod(),
            'target' => $request->getRequestTarget(),
            'uri' => (string) $request->getUri()->withHost('host')->withPort(null),
            'version' => $request->getProtocolVersion(),
            'query' => $request->getQueryParams(),
            'cookies' => $request->getCookieParams(),
            'mine' => $request->getHeader('X-Mine'),
            'form' => $request->getParsedBody(),
            'files' => array_map(self::file(...), $request->getUploadedFiles()),
            'body' => (string) $request->getBody(),
            'from' => $request->getServerParams()['REMOTE_ADDR'],
        ];
    }

    private static function file(UploadedFileInterface|array $file): array
    {
        return is_array($file) ? array_map(self::file(...), $file) : [$file->getClientFilename(), $file->getSize(), (string) $file->getStream()];
    }
}
"#;

/// The modes in which an application is served.
const MODES: [&str; 2] = ["coroutine", "resident"];

/// PSR-7 implementations in Debian's packages: the autoloader's directory, the response factory, the stream factory.
const IMPLEMENTATIONS: [(&str, &str, &str); 3] = [
    ("Nyholm/Psr7", "Nyholm\\Psr7\\Factory\\Psr17Factory", "Nyholm\\Psr7\\Factory\\Psr17Factory"),
    ("GuzzleHttp/Psr7", "GuzzleHttp\\Psr7\\HttpFactory", "GuzzleHttp\\Psr7\\HttpFactory"),
    ("Slim/Psr7", "Slim\\Psr7\\Factory\\ResponseFactory", "Slim\\Psr7\\Factory\\StreamFactory"),
];

fn serve(mode: &str, implementation: (&str, &str, &str), returns: &str) -> Running {
    let (directory, responses, streams) = implementation;
    let script = format!(
        "<?php require '/usr/share/php/{directory}/autoload.php'; require __DIR__ . '/application.php';
        $application = new Application(new {responses}(), new {streams}());
        {returns}"
    );
    Server::of_script("app.php", &script)
        .with_file("psr15.php", PSR15)
        .with_file("application.php", APPLICATION)
        .with("--run-as", mode)
        .start()
}

fn facts_of_a_get(weft: &Running) {
    let request = "GET /a%20b?c=d&e[]=1 HTTP/1.1\r\nHost: weft.test:81\r\nCookie: f=g\r\nX-Mine: h\r\nX-Mine: i\r\n\r\n";
    let response = weft.say(request);
    assert_eq!(response.status, 201, "{}\n{}", response.text(), weft.log());
    let lines = response.all("x-list");
    assert!(lines == ["one", "two"] || lines == ["one, two"], "{lines:?}");
    assert_eq!(response.all("set-cookie"), ["a=1", "b=2"]);
    let facts = response.json();
    let expected = json!({
        "method": "GET", "target": "/a%20b?c=d&e[]=1", "version": "1.1", "query": {"c": "d", "e": ["1"]},
        "cookies": {"f": "g"}, "files": [], "body": "", "form": null, "from": "127.0.0.1",
    });
    for (name, value) in expected.as_object().expect("an object") {
        // Implementations encode different characters of a query.
        let said: Value = match (name.as_str(), facts[name].as_str()) {
            ("target", Some(text)) => json!(text.replace("%5B", "[").replace("%5D", "]")),
            _ => facts[name].clone(),
        };
        assert_eq!(&said, value, "{name}");
    }
    assert!(facts["mine"] == json!(["h", "i"]) || facts["mine"] == json!(["h, i"]), "{facts}");
    assert!(facts["uri"].as_str().is_some_and(|uri| uri.starts_with("http://host/a%20b?c=d")), "{facts}");
}

fn facts_of_forms(weft: &Running) {
    let mut client = weft.connect();
    client.post("/form", "application/x-www-form-urlencoded", "a=1&b[]=2");
    let facts = client.read().json();
    assert_eq!((&facts["form"], &facts["body"]), (&json!({"a": "1", "b": ["2"]}), &json!("a=1&b[]=2")));
    let body = "--X\r\nContent-Disposition: form-data; name=\"t\"\r\n\r\nv\r\n--X\r\nContent-Disposition: form-data; name=\"f\"; \
                filename=\"n.txt\"\r\nContent-Type: text/plain\r\n\r\nhello\r\n--X--\r\n";
    client.post("/form", "multipart/form-data; boundary=X", body);
    let facts = client.read().json();
    assert_eq!((&facts["form"], &facts["files"]), (&json!({"t": "v"}), &json!({"f": ["n.txt", 5, "hello"]})));
    client.post("/raw", "application/json", "{\"a\":1}");
    let facts = client.read().json();
    assert_eq!((&facts["form"], &facts["body"]), (&Value::Null, &json!("{\"a\":1}")));
}

#[test]
fn a_psr15_application_runs_untouched_in_both_modes_with_each_implementation() {
    for mode in MODES {
        for implementation in IMPLEMENTATIONS {
            let mut weft = serve(mode, implementation, "return $application;");
            assert!(weft.log().contains(&format!("({mode} mode)")), "{}", weft.log());
            facts_of_a_get(&weft);
            facts_of_forms(&weft);
            let large = weft.get("/large");
            assert_eq!((large.status, large.body.len()), (201, 4 << 20), "{mode}, {implementation:?}");
            assert_eq!((weft.get("/empty").status, weft.get("/throw").status), (204, 500));
            weft.wait_for_log("thrown by the application");
            assert_eq!(weft.get("/").status, 201, "it goes on");
        }
    }
}

#[test]
fn a_callable_that_speaks_psr7_is_known_by_its_types() {
    let callables = [
        "return fn (Psr\\Http\\Message\\ServerRequestInterface $request) => $application->handle($request);",
        "return [$application, 'handle'];",
    ];
    for mode in MODES {
        for returns in callables {
            facts_of_a_get(&serve(mode, IMPLEMENTATIONS[0], returns));
        }
    }
}

#[test]
fn a_psr15_application_has_many_requests_at_once_in_both_modes() {
    for (mode, instances) in [("coroutine", "1"), ("resident", "8")] {
        let script =
            "<?php require '/usr/share/php/Nyholm/Psr7/autoload.php'; require __DIR__ . '/application.php';
            $factory = new Nyholm\\Psr7\\Factory\\Psr17Factory();
            return new Application($factory, $factory);";
        let weft = Server::of_script("app.php", script)
            .with_file("psr15.php", PSR15)
            .with_file("application.php", APPLICATION)
            .with("--run-as", mode)
            .with("--instances", instances)
            .start();
        // The first requests wait until eight have arrived: one after another, they would never be answered.
        std::thread::scope(|scope| {
            let asked: Vec<_> = (0..40)
                .map(|n| {
                    (
                        n,
                        scope.spawn({
                            let weft = &weft;
                            move || weft.get(&format!("/wait?n={n}"))
                        }),
                    )
                })
                .collect();
            for (n, one) in asked {
                assert_eq!(one.join().expect("a response").text(), format!("n={n}"), "{mode}");
            }
        });
    }
}

#[test]
fn without_an_implementation_the_error_says_what_to_install() {
    let script = "<?php interface_exists('Psr\\Http\\Message\\ServerRequestInterface') || require __DIR__ . '/psr7.php';
        return fn (Psr\\Http\\Message\\ServerRequestInterface $request) => 'never';";
    let psr7 = "<?php namespace Psr\\Http\\Message; interface MessageInterface {} interface ServerRequestInterface extends MessageInterface {}";
    let server = Server::of_script("app.php", script).with_file("psr7.php", psr7);
    let mut weft = server.spawn();
    weft.wait_for_log(
        "no implementation was found: install one, for example with composer require nyholm/psr7",
    );
}

/// A handler for weft's own request, with each kind of answer.
const HANDLER: &str = r#"<?php
use Weft\Http\{Request, Response, Writer};

return function (Request $request): mixed {
    echo $request->query('echo', '');
    return match ($request->path()) {
        '/text' => 'text',
        '/null' => null,
        '/number' => 42,
        '/json' => Response::json(['a' => $request->query('a')], 202)->setCookie('c', 'd'),
        '/headers' => (new Response('h'))->setHeader('Content-Type', 'text/x')->setHeader('X-Two', ['1', '2']),
        '/php-headers' => [header('X-Php: yes'), http_response_code(203), 'p'][2],
        '/file' => Response::file(__DIR__ . '/file.css'),
        '/no-file' => Response::file(__DIR__ . '/no-such-file'),
        '/generator' => (function () { yield 'one '; usleep(1000); yield 'two'; })(),
        '/writer' => new Response(function (Writer $writer): void { $writer->write('w1 '); usleep(1000); $writer->write('w2'); }),
        '/form' => Response::json([$request->form(), $request->body(), array_map(fn ($file) => $file->size(), $request->files())]),
        '/keep' => (function () use ($request) { global $kept; $path = $kept?->queryString(); $kept = $request; return $path ?? 'none'; })(),
        '/array' => ['not', 'a', 'response'],
        '/exit' => exit('left'),
    };
};
"#;

#[test]
fn a_handler_of_wefts_own_request_answers_the_same_in_both_modes() {
    let paths = [
        "/text",
        "/null",
        "/null?echo=e",
        "/text?echo=e",
        "/number",
        "/json?a=b",
        "/headers",
        "/php-headers",
        "/file",
        "/no-file",
        "/generator",
        "/generator?echo=e",
        "/writer",
        "/keep?1",
        "/keep?2",
        "/array",
        "/exit",
    ];
    let [coroutine, resident] = MODES.map(|mode| {
        let server =
            Server::of_script("app.php", HANDLER).with_file("file.css", "css {}").with("--run-as", mode);
        server.with("--define", "display_errors=0").with("--define", "output_buffering=0").start()
    });
    for path in paths {
        let (one, two) = (coroutine.get(path), resident.get(path));
        assert_eq!(one.status, two.status, "{path}\n{}", resident.log());
        if one.status < 400 {
            assert_eq!(one.text(), two.text(), "{path}");
        }
        for name in ["set-cookie", "x-two", "x-php"] {
            assert_eq!(one.all(name), two.all(name), "{path}: {name}");
        }
        if one.status < 300 {
            let kind = |value: Option<&str>| value.map(str::to_ascii_lowercase);
            assert_eq!(kind(one.header("content-type")), kind(two.header("content-type")), "{path}");
        }
    }
    for weft in [&coroutine, &resident] {
        let mut client = weft.connect();
        client.post("/form", "application/x-www-form-urlencoded", "a=1");
        assert_eq!(client.read().json(), json!([{"a": "1"}, "a=1", []]));
    }
}

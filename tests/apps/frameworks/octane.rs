//! The driver for Laravel Octane, on Laravel's own requests and responses. Debian has no package of Octane, so `OCTANE`
//! stubs the part that the driver uses, with the signatures and the call order of Octane 1 and 2.

use weft_tests::Server;

const OCTANE: &str = r#"<?php
namespace Laravel\Octane\Contracts {
    interface Client
    {
        public function marshalRequest(\Laravel\Octane\RequestContext $context): array;
        public function respond(\Laravel\Octane\RequestContext $context, \Laravel\Octane\OctaneResponse $response): void;
        public function error(\Throwable $e, \Illuminate\Foundation\Application $app, \Illuminate\Http\Request $request, \Laravel\Octane\RequestContext $context): void;
    }
}
namespace Laravel\Octane {
    final class RequestContext
    {
    }
    final class OctaneResponse
    {
        public function __construct(public \Symfony\Component\HttpFoundation\Response $response, public ?string $outputBuffer = null)
        {
        }
    }
    final class ApplicationFactory
    {
        public function __construct(public string $basePath)
        {
        }
    }
    final class Worker
    {
        private \Illuminate\Foundation\Application $app;
        private int $handled = 0;
        public function __construct(private ApplicationFactory $factory, private Contracts\Client $client)
        {
        }
        public function boot(array $initial = []): void
        {
            $this->app = new \Illuminate\Foundation\Application($this->factory->basePath);
            $this->app->instance('config', new \Illuminate\Config\Repository(['app' => ['debug' => false]]));
        }
        public function handle(\Illuminate\Http\Request $request, RequestContext $context): void
        {
            try {
                ob_start();
                $response = answer($request, ++$this->handled);
                $output = ob_get_clean();
                $this->client->respond($context, new OctaneResponse($response, $output));
                file_put_contents($this->factory->basePath . '/terminated', $request->path() . "\n", FILE_APPEND);
                echo 'too late';
            } catch (\Throwable $error) {
                ob_end_clean();
                $this->client->error($error, $this->app, $request, $context);
            }
        }
        public function terminate(): void
        {
            file_put_contents($this->factory->basePath . '/stopped', 'yes');
        }
    }
}
"#;

const SCRIPT: &str = r#"<?php
require 'Illuminate/autoload.php';
require __DIR__ . '/octane.php';
function answer(Illuminate\Http\Request $request, int $handled): Symfony\Component\HttpFoundation\Response
{
    return match ($request->path()) {
        'throw' => throw new RuntimeException('secret'),
        'stream' => new Symfony\Component\HttpFoundation\StreamedResponse(fn () => print('streamed'), 203),
        default => [print('echoed '), response_of($request, $handled)][1],
    };
}
function response_of(Illuminate\Http\Request $request, int $handled): Illuminate\Http\Response
{
    $file = $request->file('f');
    $said = ['n' => $handled, 'input' => $request->input('a'), 'method' => $request->method(), 'file' => $file?->getClientOriginalName()];
    return (new Illuminate\Http\Response(json_encode($said), 201))->header('X-A', 'b')->withCookie(new Symfony\Component\HttpFoundation\Cookie('c', 'd'));
}
Weft\Octane\Worker::run(__DIR__);
"#;

#[test]
fn the_driver_takes_requests_from_the_server_and_hands_responses_to_it() {
    let server = Server::of_script("worker.php", SCRIPT).with_file("octane.php", OCTANE);
    let mut weft = server.with("--instances", "1").with("--run-as", "resident").start();
    let first = weft.get("/page?a=1");
    assert_eq!((first.status, first.header("x-a")), (201, Some("b")), "{}", weft.log());
    assert_eq!(
        first.text(),
        r#"echoed {"n":1,"input":"1","method":"GET","file":null}"#,
        "what was echoed comes first"
    );
    assert!(first.header("set-cookie").is_some_and(|cookie| cookie.starts_with("c=d;")));
    let mut client = weft.connect();
    let body = "--X\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n2\r\n--X\r\nContent-Disposition: form-data; \
                name=\"f\"; filename=\"n.txt\"\r\n\r\nhello\r\n--X--\r\n";
    client.post("/form", "multipart/form-data; boundary=X", body);
    assert_eq!(client.read().text(), r#"echoed {"n":2,"input":"2","method":"POST","file":"n.txt"}"#);
    let error = weft.get("/throw");
    assert_eq!((error.status, error.text().as_str()), (500, "Internal Server Error"));
    let stream = weft.get("/stream");
    assert_eq!((stream.status, stream.text().as_str()), (203, "streamed"));
    assert_eq!(
        weft.read("terminated"),
        "page\nform\nstream\n",
        "after the response, before the next request"
    );
    weft.signal(rustix::process::Signal::TERM);
    assert!(weft.wait().success());
    assert_eq!(weft.read("stopped"), "yes");
}

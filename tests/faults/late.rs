//! Destructors that run after a request: of objects that its handlers, settings and variables held until then.

use weft_tests::{Server, until};

const APP: &str = "final class Late
    {
        public function __construct(private string $how) {}
        public function __destruct()
        {
            match ($this->how) {
                'fatal' => trigger_error('fatal at the end', E_USER_ERROR),
                'exit' => exit,
                'throw' => throw new RuntimeException('thrown at the end'),
            };
        }
    }
    function keep(string $where, Late $late): void
    {
        match ($where) {
            'error-handler' => set_error_handler(fn () => (bool) $late),
            'exception-handler' => set_exception_handler(fn () => (bool) $late),
            'context' => Weft\\Context::set('late', $late),
            'shutdown' => register_shutdown_function(fn () => (bool) $late),
            'query' => $_GET['late'] = $late,
            'stream-context' => stream_context_set_default(['http' => ['late' => $late]]),
            'assert' => assert_options(ASSERT_CALLBACK, fn () => (bool) $late),
        };
    }
    return function ($request) {
        $how = $request->query('how');
        if ($how === null) {
            return (string) getmypid();
        }
        if ($request->path() === '/task') {
            Weft\\go(fn () => keep($request->query('where'), new Late($how)))->await();
        } else {
            keep($request->query('where'), new Late($how));
        }
        return (string) getmypid();
    };";

const WHERE: [&str; 7] =
    ["error-handler", "exception-handler", "context", "shutdown", "query", "stream-context", "assert"];

#[test]
fn a_fatal_error_in_a_destructor_at_the_end_does_not_affect_others() {
    let mut weft = Server::new(APP).start();
    for path in ["/", "/task"] {
        for place in WHERE {
            for how in ["throw", "exit", "fatal"] {
                let response = weft.get(&format!("{path}?where={place}&how={how}"));
                // A failure before the response is sent, such as one in a shutdown function, may become the
                // answer.
                assert!([200, 500].contains(&response.status), "{path} {place} {how}: {}", response.status);
                if how == "fatal" && response.status == 200 {
                    // One that was to be replaced before may have answered.
                    let failed = response.text();
                    until("the worker to be replaced", || (weft.get("/").text() != failed).then_some(()));
                }
                let after = weft.get("/");
                assert!(after.status == 200, "after {path} {place} {how}: {}", after.text());
            }
        }
    }
    weft.wait_for_log("fatal at the end");
    weft.wait_for_log("thrown at the end");
    assert!(!weft.log().contains("SIG"), "{}", weft.log());
}

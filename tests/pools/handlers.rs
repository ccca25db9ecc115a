//! In a server: how requests of one worker may affect each other through a shared PDO, Revolt's loop, and autoloading.

use libtest_mimic::Trial;
use weft_tests::{Client, Running, Server};

use crate::environment::environment;

const APP: &str = r##"
use Weft\Http\Request;

$db = new Weft\Database\SharedPdo('mysql:host=127.0.0.1;dbname=weft;port=' . getenv('MARIADB_PORT'), 'root', '', max: 2, waitTimeout: 20);
$table = 'handlers_' . getmypid();
$db->exec("CREATE OR REPLACE TABLE $table (id INT PRIMARY KEY) ENGINE=InnoDB"); // during the boot: outside of any coroutine

return static function (Request $request) use ($db, $table): string {
    switch ($request->path()) {
        case '/exit': // in a transaction, while it holds a connection and a result
            $db->beginTransaction();
            $db->exec("INSERT INTO $table VALUES (" . $request->query('id') . ')');
            $open = $db->query("SELECT * FROM $table");
            $db->hold(static fn () => exit('left'));
        case '/throw':
            $db->beginTransaction();
            $db->exec("INSERT INTO $table VALUES (" . $request->query('id') . ')');
            throw new Exception('left');
        case '/commit':
            $db->beginTransaction();
            $db->exec("INSERT INTO $table VALUES (" . $request->query('id') . ')');
            $db->query('SELECT SLEEP(0.01)')->fetch();
            $db->commit();

            return $db->inTransaction() ? 'still in' : 'committed';
        case '/slow':
            return $db->query('SELECT SLEEP(30)')->fetchColumn();
        case '/count':
            return (string) $db->query("SELECT COUNT(*) FROM $table")->fetchColumn();
        default:
            $metrics = $db->metrics();

            return "open $metrics[open], in use $metrics[in_use], waiting $metrics[waiting]";
    }
};
"##;

/// The tests of this file.
pub fn trials() -> Vec<Trial> {
    let tests: [(&str, fn()); 7] = [
        ("handlers::requests_are_apart", requests_are_apart),
        ("handlers::a_request_that_is_cut_short", cut_short),
        ("handlers::revolt_loops_wait_together", revolt),
        ("handlers::a_class_is_loaded_once", loaded_once),
        ("handlers::system_calls_of_three_queries", crate::calls::of_three_queries),
        ("handlers::system_calls_of_a_redis_command", crate::calls::of_a_redis_command),
        ("handlers::system_calls_of_a_batch", crate::calls::of_a_batch),
    ];
    tests
        .into_iter()
        .map(|(name, test)| {
            Trial::test(name, move || {
                test();
                Ok(())
            })
        })
        .collect()
}

fn serve(flags: &[(&str, &str)]) -> Running {
    let server = flags.iter().fold(Server::new(APP), |server, (flag, value)| server.with(flag, value));
    environment("shared")
        .iter()
        .fold(server, |server, (name, value)| server.with_variable(name, value))
        .start()
}

fn text(server: &Running, target: &str) -> String {
    let mut client = Client::connect(server.address);
    client.get(target);
    client.read().text()
}

fn requests_are_apart() {
    let server = serve(&[]);
    let mut clients: Vec<_> = (0..40).map(|_| Client::connect(server.address)).collect();
    for (id, client) in clients.iter_mut().enumerate() {
        let path = ["/commit", "/throw", "/exit", "/commit"][id % 4];
        client.get(&format!("{path}?id={id}"));
    }
    for (id, client) in clients.iter_mut().enumerate() {
        let response = client.read();
        match id % 4 {
            0 | 3 => assert_eq!(response.text(), "committed"),
            1 => assert_eq!(response.status, 500),
            _ => assert_eq!(response.text(), "left"),
        }
    }
    assert_eq!(text(&server, "/count"), "20", "only what was committed is there");
    let metrics = text(&server, "/");
    assert!(metrics.ends_with("in use 0, waiting 0"), "every connection came back: {metrics}");
}

fn cut_short() {
    let server = serve(&[("--request-timeout-ms", "200")]);
    let mut slow: Vec<_> = (0..2).map(|_| Client::connect(server.address)).collect();
    slow.iter_mut().for_each(|client| client.get("/slow"));
    for client in &mut slow {
        assert_eq!(client.read().status, 504);
    }
    assert_eq!(text(&server, "/commit?id=1000"), "committed");
    assert!(text(&server, "/").ends_with("in use 0, waiting 0"));
}

const REVOLT: &str = r##"
use Weft\Http\Request;

require getenv('POOLS') . '/revolt/contract.php';

return static function (Request $request): string {
    $number = (int) $request->query('n');
    switch ($request->path()) {
        case '/delay':
            static $waiting = 0;
            for (++$waiting; $waiting < 50;) { // would never end if the requests ran one after another
                pause(0.01, 0);
            }

            return (string) pause(0.01, $number);
        case '/futures':
            $promises = array_map(fn ($i) => new Promise(fn () => pause(0.1, $i * $number)), range(1, 5));

            return (string) array_sum(array_map(fn ($promise) => $promise->await(), $promises));
        case '/throw':
            $suspension = loop()->getSuspension();
            loop()->delay(0.01, static fn () => $suspension->throw(new Exception("thrown $number")));
            try {
                return $suspension->suspend();
            } catch (Exception $exception) {
                return $exception->getMessage();
            }
        case '/uncaught':
            loop()->queue(static fn () => throw new Exception('of nobody'));

            return (string) pause(0.01, 'survived');
        case '/local': // belongs to the Fiber that runs a request: the next request on that Fiber must not find it
            static $kept = new WeakMap();
            $found = $kept[Fiber::getCurrent()] ?? 'nothing';
            $kept[Fiber::getCurrent()] = 'something';

            return $found;
        default:
            return (string) count(loop()->getIdentifiers());
    }
};
"##;

fn ask_all(server: &Running, count: usize, target: impl Fn(usize) -> String) -> Vec<weft_tests::Response> {
    let mut clients: Vec<_> = (0..count).map(|_| Client::connect(server.address)).collect();
    for (number, client) in clients.iter_mut().enumerate() {
        client.get(&target(number));
    }
    clients.iter_mut().map(Client::read).collect()
}

fn revolt() {
    let script =
        REVOLT.replace("static $kept = new WeakMap();", "static $kept = null; $kept ??= new WeakMap();");
    let server = environment("revolt")
        .iter()
        .fold(Server::new(&script), |server, (name, value)| server.with_variable(name, value));
    let server = server.start();
    for (number, response) in ask_all(&server, 50, |n| format!("/delay?n={n}")).iter().enumerate() {
        assert_eq!(response.text(), number.to_string());
    }
    for (number, response) in ask_all(&server, 50, |n| format!("/futures?n={n}")).iter().enumerate() {
        assert_eq!(response.text(), (number * 15).to_string());
    }
    for (number, response) in ask_all(&server, 50, |n| format!("/throw?n={n}")).iter().enumerate() {
        assert_eq!(response.text(), format!("thrown {number}"));
    }
    for response in ask_all(&server, 10, |_| "/uncaught".to_string()) {
        assert_eq!(response.text(), "survived");
    }
    for _ in 0..5 {
        assert_eq!(text(&server, "/local"), "nothing");
    }
    assert_eq!(text(&server, "/"), "0", "no callback is left");
}

/// The autoloader waits, and fifty requests need the class at once.
fn loaded_once() {
    let server = Server::new(
        r#"
        final class Counted
        {
            public static int $loads = 0;
        }
        spl_autoload_register(static function (string $class): void {
            ++Counted::$loads;
            usleep(50_000);
            if ($class !== 'Missing') {
                eval("class $class" . ($class === 'Child' ? ' extends Base' : '') . ' {}');
            }
        });

        return fn (): string => json_encode([class_exists('Missing'), (new Child()) instanceof Base, Counted::$loads]);
        "#,
    );
    let server = server.start();
    let answers: Vec<_> =
        ask_all(&server, 50, |_| "/".to_string()).iter().map(|response| response.text()).collect();
    for answer in &answers {
        assert!(answer.starts_with("[false,true,"), "{answers:?}");
    }
}

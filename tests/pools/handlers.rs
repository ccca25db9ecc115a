//! A shared PDO in a server: what requests of one worker may do to each other through it.

use libtest_mimic::Trial;
use weft_tests::{Client, Running, Server};

use crate::environment;

const APP: &str = r##"
use Weft\Http\Request;

$db = new Weft\Database\SharedPdo('mysql:host=127.0.0.1;dbname=weft;port=' . getenv('MARIADB_PORT'), 'root', '', max: 2, waitTimeout: 20);
$table = 'handlers_' . getmypid();
$db->exec("CREATE OR REPLACE TABLE $table (id INT PRIMARY KEY) ENGINE=InnoDB"); // while it boots: outside any coroutine

return static function (Request $request) use ($db, $table): string {
    switch ($request->path()) {
        case '/exit': // in a transaction, with a connection and a result in its hands
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
    let tests: [(&str, fn()); 2] = [
        ("handlers::requests_are_apart", requests_are_apart),
        ("handlers::a_request_that_is_cut_short", cut_short),
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

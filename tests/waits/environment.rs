//! Environment variables that requests set, while threads of the worker read the environment.

use weft_tests::{Running, Server};

/// Sets and unsets variables of all lengths, its own and one that existed before, while threads look up names.
const BODY: &str = r#"
    $n = (int) $_GET['n'];
    $wrong = [];
    for ($round = 1; $round <= 40; $round++) {
        for ($i = 0; $i < 30; $i++) {
            putenv("OWN_$i=$n" . str_repeat('x', $i * $round));
        }
        putenv("RES_OPTIONS=attempts:$n");
        putenv("OF_START=of $n");
        gethostbyname('localhost');
        for ($i = 0; $i < 30; $i++) {
            getenv("OWN_$i") === $n . str_repeat('x', $i * $round) || $wrong[] = "OWN_$i";
            $i % 2 ? putenv("OWN_$i") : putenv("OWN_$i=");
        }
        putenv("OF_START=$n again");
        getenv('OF_START') === "$n again" || $wrong[] = 'OF_START';
        getenv('RES_OPTIONS') === "attempts:$n" || $wrong[] = 'RES_OPTIONS';
        putenv('OF_START');
        getenv('OF_START') === false || $wrong[] = 'OF_START, unset';
        count(array_filter(getenv(), fn ($name) => str_starts_with($name, 'OWN_'), ARRAY_FILTER_USE_KEY)) === 15 || $wrong[] = 'all';
    }
    $said = $wrong ? 'wrong: ' . implode(' ', $wrong) : 'right';
"#;

fn are_right(weft: &Running) {
    let clean = || assert_eq!(weft.get("/?look").text(), "[\"at the start\",false,false]");
    clean();
    for _ in 0..3 {
        let mut clients: Vec<_> = (0..8).map(|n| (n, weft.connect())).collect();
        clients.iter_mut().for_each(|(n, client)| client.get(&format!("/?n={n}")));
        clients.iter_mut().for_each(|(n, client)| assert_eq!(client.read().text(), "right", "{n}"));
        clean();
    }
}

const LOOK: &str = "if (isset($_GET['look'])) { return json_encode([getenv('OF_START'), getenv('OWN_2'), getenv('RES_OPTIONS')]); }";

#[test]
fn variables_of_coroutines_are_their_own_while_threads_read_the_environment() {
    let app = format!("return function (): string {{ {LOOK} {BODY} return $said; }};");
    are_right(&Server::new(&app).with_variable("OF_START", "at the start").start());
}

#[test]
fn variables_of_instances_are_their_own_while_threads_read_the_environment() {
    let script = format!("<?php echo (function (): string {{ {LOOK} {BODY} return $said; }})();");
    are_right(
        &Server::of_docroot(&[("index.php", &script)]).with_variable("OF_START", "at the start").start(),
    );
}

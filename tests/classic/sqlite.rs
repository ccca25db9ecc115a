//! SQLite under concurrent writes: whoever waits for the database gets it before his busy timeout has passed.
//!
//! To the kernel all requests of a worker are one process; SQLite tells its connections apart in its own memory, and polls.

use std::thread;

use weft_tests::{Running, Server};

/// Some milliseconds of work and one row. SQLite itself waits for ten seconds at most.
const PAGE: &str = "<?php
    $db = new PDO('sqlite:' . dirname(__DIR__) . '/rows.db', null, null, [PDO::ATTR_TIMEOUT => 10, PDO::ATTR_ERRMODE => PDO::ERRMODE_EXCEPTION]);
    for ($i = 0, $text = ''; $i < 30_000; $i++) { $text = md5($text . $i); }
    try {
        $db->prepare('INSERT INTO rows (text) VALUES (?)')->execute([$text]);
        echo 'ok';
    } catch (PDOException $error) {
        http_response_code(500);
        echo $error->getMessage();
    }";

const CREATE: &str = "<?php $db = new PDO('sqlite:' . dirname(__DIR__) . '/rows.db');
    echo $db->query('PRAGMA journal_mode = ' . $_GET['mode'])->fetchColumn();
    $db->exec('CREATE TABLE rows (id INTEGER PRIMARY KEY, text TEXT)');";

const COUNT: &str = "<?php echo (new PDO('sqlite:' . dirname(__DIR__) . '/rows.db'))->query('SELECT count(*) FROM rows')->fetchColumn();";

fn site(journal_mode: &str, workers: &str) -> Running {
    let files = [("page.php", PAGE), ("create.php", CREATE), ("count.php", COUNT)];
    let weft = Server::of_docroot(&files).with("--instances", "50").with("--workers", workers).start();
    assert_eq!(weft.get(&format!("/create.php?mode={journal_mode}")).text(), journal_mode);
    weft
}

/// So many clients, each with so many requests one after the other, over one connection.
fn write(weft: &Running, clients: usize, requests: usize) {
    thread::scope(|scope| {
        for _ in 0..clients {
            scope.spawn(|| {
                let mut client = weft.connect();
                for _ in 0..requests {
                    client.get("/page.php");
                    let response = client.read();
                    assert_eq!((response.status, response.text().as_str()), (200, "ok"), "{clients} clients");
                }
            });
        }
    });
}

#[test]
fn many_requests_of_a_worker_write_to_one_database_and_none_is_told_that_it_is_locked() {
    for mode in ["wal", "delete"] {
        let weft = site(mode, "1");
        for (clients, requests) in [(8, 20), (15, 10), (40, 5)] {
            write(&weft, clients, requests);
        }
        assert_eq!(weft.get("/count.php").text(), "510", "{mode}: each row is there");
    }
}

#[test]
fn workers_leave_each_other_the_database() {
    for mode in ["wal", "delete"] {
        let weft = site(mode, "2");
        write(&weft, 12, 10);
        assert_eq!(weft.get("/count.php").text(), "120", "{mode}");
    }
}

//! One request's failure must not affect other requests.

mod contained;
mod crashes;
mod deep;
mod endless;
mod forks;
mod goodbye;
mod late;
mod rescue;
mod slow;

use std::process::{Child, Command, Stdio};

use weft_tests::{Client, Running, Server, until};

/// The application of these tests; its routes are in app.php.
pub fn server() -> Server {
    Server::new(include_str!("app.php").trim_start_matches("<?php"))
        .with_file("compile-error.inc", "<?php class A { public $x; public $x; }")
        .with_file("parse-error.inc", "<?php function {")
        .with_file("redeclare.inc", "<?php function parked() {}")
}

/// Requests that wait in one worker until the gate opens.
pub struct Parked {
    clients: Vec<Client>,
    holder: Child,
    /// Answers `/slow` to the requests that are parked in curl and in streams.
    slow: Running,
}

impl Parked {
    /// Parks this many requests in a server, alternating between the ways, and returns once all of them wait.
    pub fn park(weft: &Running, count: usize) -> Parked {
        let slow = server().start();
        let holder = hold_locks(weft);
        let url = format!("http%3A%2F%2F{}%2Fslow", slow.address);
        let mut clients: Vec<Client> = (0..count).map(|_| weft.connect()).collect();
        for (n, client) in clients.iter_mut().enumerate() {
            client.get(&format!("/parked?n={n}&slow={url}"));
        }
        // PHP runs on one thread, so it answers this only after the earlier requests have parked.
        assert_eq!(weft.get("/pid").status, 200);
        assert!(
            clients.iter_mut().all(|client| !client.is_readable()),
            "nobody is answered before the gate is open"
        );
        Parked { clients, holder, slow }
    }

    /// Opens the gate and asserts that each request gets its answer.
    pub fn release(mut self, weft: &Running) {
        weft.write("gate", "open");
        self.slow.write("gate", "open");
        // Closing its stdin ends the process, which releases the locks.
        drop(self.holder.stdin.take());
        for (n, client) in self.clients.iter_mut().enumerate() {
            let response = client.read();
            assert_eq!((response.status, response.text()), (200, format!("parked {n}")));
        }
        assert!(self.holder.wait().is_ok_and(|status| status.success()));
    }
}

impl Drop for Parked {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}

/// Starts a process that holds the locks of the database and of the file until its stdin is closed.
fn hold_locks(weft: &Running) -> Child {
    let script =
        "$db = new PDO('sqlite:locked.db'); $db->exec('CREATE TABLE t (x)'); $db->exec('BEGIN EXCLUSIVE');
        $f = fopen('locked', 'c'); flock($f, LOCK_EX); touch('held'); fgets(STDIN); $db->exec('COMMIT');";
    let mut command = Command::new("php");
    command.args(["-r", script]).current_dir(weft.directory()).stdin(Stdio::piped());
    let holder = command.spawn().expect("php runs");
    until("the locks to be held", || weft.path("held").exists().then_some(()));
    holder
}

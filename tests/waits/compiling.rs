//! PHP code that does not wait is one step for the other coroutines of its worker, also while the JIT compiles it.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use weft_tests::{Server, wait};

/// Another process that holds opcache's lock, as a worker does while it writes to the shared memory. Dropping it
/// releases the lock.
struct Holder(Child);

impl Holder {
    /// Locks the first byte of the file (ext/opcache/zend_shared_alloc.c).
    fn of(lock: &PathBuf) -> Holder {
        const LOCK: &str = r#"use Fcntl; $| = 1;
            open(my $file, "+<", $ARGV[0]) or die "$ARGV[0]: $!";
            my $lock = pack("s s x4 q q i x4", F_WRLCK, 0, 0, 1, 0);
            fcntl($file, F_SETLKW, $lock) or die "fcntl: $!";
            print "locked\n"; <STDIN>;"#;
        let mut perl = Command::new("perl")
            .args(["-e", LOCK])
            .arg(lock)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("perl starts");
        let mut line = String::new();
        BufReader::new(perl.stdout.take().expect("a pipe")).read_line(&mut line).expect("a line");
        assert_eq!(line, "locked\n");
        Holder(perl)
    }

    fn release(mut self) {
        self.0.stdin.take().expect("a pipe").write_all(b"\n").expect("perl reads");
        assert!(self.0.wait().expect("perl ends").success());
    }
}

/// The path of opcache's lock file, which a process has open.
fn lock_file(pid: u32) -> PathBuf {
    let is_lock = |path: &PathBuf| {
        let target = std::fs::read_link(path).unwrap_or_default();
        let target = target.to_string_lossy();
        target.contains(".ZendSem.") || target.starts_with("/memfd:opcache_lock") // the latter since PHP 8.3
    };
    let descriptors = std::fs::read_dir(format!("/proc/{pid}/fd")).expect("the worker lives");
    let mut paths = descriptors.flatten().map(|entry| entry.path());
    paths.find(is_lock).expect("opcache has a lock file")
}

/// Whether a process is blocked in fcntl(2) (proc_locks(5): "->" marks the ones that wait).
fn stands(pid: u32) -> bool {
    let locks = std::fs::read_to_string("/proc/locks").expect("proc is mounted");
    locks
        .lines()
        .any(|line| line.contains("->") && line.split_whitespace().any(|word| word == pid.to_string()))
}

#[test]
fn nobody_runs_while_the_jit_waits_for_opcaches_lock() {
    let running = Server::new(
        r#"$turns = 0;
        return function (Weft\Http\Request $request) use (&$turns): string {
            if ($request->path() === '/turn') {
                return (string) ++$turns;
            }
            $before = $turns;
            for ($sum = 0, $i = 0; $i < 100_000; $i++) {
                $sum += $i % 7;
            }
            return $turns === $before ? 'one step' : 'left';
        };"#,
    )
    .with("-d", "opcache.file_update_protection=0") // the file is new
    .with("-d", "opcache.jit_buffer_size=16M")
    .with("-d", "opcache.jit=tracing")
    .start();
    assert_eq!(running.get("/turn").text(), "1");
    let worker = running.workers()[0];
    let holder = Holder::of(&lock_file(worker));
    let (mut hot, mut other) = (running.connect(), running.connect());
    hot.get("/");
    other.get("/turn");
    wait::until("the worker to wait for the lock", || stands(worker).then_some(()));
    holder.release();
    assert_eq!(hot.read().text(), "one step");
    assert_eq!(other.read().text(), "2");
}

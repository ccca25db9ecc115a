//! Session tickets as time passes: with a clock that the test moves, because a period takes hours.

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::process::Signal;
use weft_tests::services::Authority;
use weft_tests::{Running, Server, command};

/// How long a secret makes tickets.
const PERIOD_S: u64 = 6 * 3600;

/// A clock that is as many seconds late or early as a file of eight bytes says, which all processes map.
const CLOCK: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static volatile long *offset;

__attribute__((constructor)) static void begin(void) {
    long fd = syscall(SYS_openat, AT_FDCWD, getenv("CLOCK_FILE"), O_RDONLY);
    long mapped = syscall(SYS_mmap, NULL, sizeof(long), PROT_READ, MAP_SHARED, fd, 0);
    syscall(SYS_close, fd);
    offset = mapped < 0 ? NULL : (volatile long *)mapped;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int result = (int)syscall(SYS_clock_gettime, clock, now);
    if (result == 0 && clock == CLOCK_REALTIME && offset) now->tv_sec += *offset;
    return result;
}
"#;

fn now() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs() as i64)
}

struct Clock {
    weft: Running,
    /// What makes the present moment the middle of a period, so that the test's own time changes none.
    start: i64,
}

impl Clock {
    fn start() -> Clock {
        let server = Server::new("return fn ($r) => 'pid ' . getmypid();");
        Authority::new(server.directory()).certify("a", "DNS:a.example", 9);
        let directory = server.directory().to_owned();
        std::fs::write(directory.join("clock.c"), CLOCK).expect("a source file");
        let mut gcc = Command::new("gcc");
        gcc.current_dir(&directory).args(["-shared", "-fPIC", "-o", "clock.so", "clock.c"]);
        let output = command::finish(&mut gcc);
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        let period = PERIOD_S as i64;
        // Never before the present: the certificate is not valid then.
        let start = (period / 2 - now() % period).rem_euclid(period);
        set(&directory.join("clock"), start);
        let path = |name: &str| directory.join(name).display().to_string();
        let server = server.with("--listen", "https://127.0.0.1:0").with("--workers", "2");
        let server = server.with("--tls-certificates", "a.pem").with("--tls-keys", "a.key");
        let server =
            server.with_variable("LD_PRELOAD", &path("clock.so")).with_variable("CLOCK_FILE", &path("clock"));
        Clock { weft: server.start(), start }
    }

    /// It is so many periods after the start.
    fn at(&self, periods: i64) {
        set(&self.weft.path("clock"), self.start + periods * PERIOD_S as i64);
    }

    /// A connection that offers the ticket of one file, and keeps the one that it gets in another. Whether it resumed, and its
    /// worker's pid.
    fn connect(&self, version: &str, offered: Option<&str>, kept: &str) -> (bool, String) {
        self.weft.write("request", "GET / HTTP/1.1\r\nHost: a.example\r\nConnection: close\r\n\r\n");
        let request = std::fs::File::open(self.weft.path("request")).expect("it was just written");
        let mut openssl = Command::new("openssl");
        openssl.current_dir(self.weft.directory()).stdin(request);
        openssl.args(["s_client", "-ign_eof", "-CAfile", "ca.pem", "-connect"]);
        openssl.arg(self.weft.address.to_string()).args([version, "-sess_out", kept]);
        if let Some(offered) = offered {
            openssl.args(["-sess_in", offered]);
        }
        let output = command::finish(&mut openssl);
        let said = output.stdout;
        let (_, pid) =
            said.split_once("pid ").unwrap_or_else(|| panic!("no answer: {said} {}", output.stderr));
        let pid = pid.chars().take_while(char::is_ascii_digit).collect();
        (said.contains("\nReused, "), pid)
    }
}

fn set(file: &std::path::Path, offset: i64) {
    use std::os::unix::fs::FileExt;
    let file = std::fs::OpenOptions::new().write(true).create(true).truncate(false).open(file);
    file.and_then(|file| file.write_all_at(&offset.to_ne_bytes(), 0)).expect("the clock's file");
}

#[test]
fn a_ticket_is_good_in_its_period_and_in_the_next_one_at_any_worker() {
    let mut clock = Clock::start();
    // Secrets cannot be turned back: the second version begins where the first has ended.
    for (version, begin) in [("-tls1_2", 0), ("-tls1_3", 4)] {
        clock.at(begin);
        assert!(!clock.connect(version, None, "first").0);
        assert!(clock.connect(version, Some("first"), "other").0);
        // A period later it still opens a session, and others get tickets of the new period.
        clock.at(begin + 1);
        assert!(clock.connect(version, Some("first"), "other").0, "{version}: it is of the last period");
        assert!(!clock.connect(version, None, "second").0);
        // Two periods later its secret is gone, at whichever worker, and the next one's is the older of two.
        clock.at(begin + 2);
        let mut pids = std::collections::BTreeSet::new();
        while pids.len() < 2 {
            assert!(!clock.connect(version, Some("first"), "other").0, "{version}: it is too old");
            let (resumed, pid) = clock.connect(version, Some("second"), "other");
            assert!(resumed, "{version}: it is not too old");
            pids.insert(pid);
        }
        // A new image of the master has the secrets of the present, and none of the past.
        let ready = clock.weft.log().matches(" is ready, ").count();
        clock.weft.signal(Signal::HUP);
        clock.weft.wait_for_log_times(" is ready, ", ready + 1);
        assert!(clock.connect(version, Some("second"), "other").0, "{version}: after a reload");
        assert!(!clock.connect(version, Some("first"), "other").0, "{version}: after a reload");
        clock.at(begin + 3);
        assert!(!clock.connect(version, Some("second"), "other").0, "{version}: it is too old now");
    }
}

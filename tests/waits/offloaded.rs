//! Calls that a thread makes while the coroutine is parked: name lookups and disk access.

use weft_tests::Server;

use crate::{at_once, last_words};

const CALLS: &str = "calls made by threads of this worker: ";

#[test]
fn names_are_looked_up_by_threads() {
    let mut running = Server::new(
        r#"return function (Weft\Http\Request $request): string {
            return match ($request->path()) {
                '/name' => gethostbyname('localhost'),
                '/names' => implode(gethostbynamel('localhost')),
                '/address' => gethostbyaddr('127.0.0.1'),
                '/records' => is_array(@dns_get_record('localhost.invalid', DNS_A)) ? 'records' : 'none',
                '/exists' => checkdnsrr('localhost.invalid', 'A') ? 'yes' : 'no',
                '/info' => socket_addrinfo_explain(socket_addrinfo_lookup('localhost', '80', ['ai_family' => AF_INET])[0])['ai_addr']['sin_addr'],
                '/stream' => @stream_socket_client('tcp://localhost:1') ? 'connected' : 'refused',
            };
        };"#,
    )
    .start();
    assert_eq!(running.get("/name").text(), "127.0.0.1");
    assert_eq!(running.get("/names").text(), "127.0.0.1");
    assert_eq!(running.get("/address").text(), "localhost");
    assert_eq!(running.get("/info").text(), "127.0.0.1");
    assert_eq!(running.get("/stream").text(), "refused");
    // What a resolver answers for a missing name is its own business.
    assert_eq!(running.get("/records").status, 200);
    assert_eq!(running.get("/exists").status, 200);
    let calls = last_words(&mut running, CALLS);
    for call in ["gethostbyname_r() ", "getnameinfo() ", "res_nsearch() ", "getaddrinfo() "] {
        assert!(calls.contains(call), "no {call} in {calls:?}");
    }
}

#[test]
fn lookups_of_many_requests_leave_the_worker_to_others() {
    let mut running = Server::new(
        r#"$there = new Weft\WaitGroup(50);
        return function (Weft\Http\Request $request) use ($there): string {
            static $under_way = 0, $most = 0;
            if ($request->path() === '/most') {
                return (string) $most;
            }
            // However slowly they arrive, they make their calls in one turn of the loop.
            $there->done();
            $there->wait();
            $most = max($most, ++$under_way);
            $name = gethostbyname('localhost');
            $under_way--;
            return $name;
        };"#,
    )
    .start();
    let answers = at_once(&running, &vec!["/".to_string(); 50]);
    assert_eq!(answers, vec!["127.0.0.1"; 50]);
    let most: usize = running.get("/most").text().parse().expect("a number");
    assert!(most > 1, "never was more than one request inside gethostbyname()");
    assert!(last_words(&mut running, CALLS).contains("gethostbyname_r() 50"));
}

#[test]
fn a_disk_is_asked_by_threads_and_the_page_cache_directly() {
    let mut running = Server::new(
        r#"return function (Weft\Http\Request $request): string {
            $file = __DIR__ . '/file';
            switch ($request->path()) {
                case '/write':
                    // Not at first: a thread makes large writes.
                    $out = fopen($file, 'w');
                    for ($i = 0; $i < 400; $i++) {
                        fwrite($out, random_bytes(8000));
                    }
                    return 'written';
                case '/flush':
                    $out = fopen($file, 'r+');
                    $done = fsync($out) && fdatasync($out);
                    // dd drops the cached pages of the file.
                    exec('dd if=' . escapeshellarg($file) . ' iflag=nocache count=0 2>&1');
                    return $done ? 'flushed' : 'not flushed';
                case '/copy':
                    return copy($file, "$file.copy") && md5_file($file) === md5_file("$file.copy") ? 'copied' : 'not copied';
                default:
                    return md5_file($file);
            }
        };"#,
    )
    .start();
    assert_eq!(running.get("/write").text(), "written");
    let cached = running.get("/read").text().to_string();
    assert_eq!(running.get("/flush").text(), "flushed");
    assert_eq!(running.get("/read").text(), cached);
    assert_eq!(running.get("/copy").text(), "copied");
    let on_disk = has_disk(running.directory());
    let calls = last_words(&mut running, CALLS);
    for call in ["fsync() 1", "fdatasync() 1", "copy_file_range() "] {
        assert!(calls.contains(call), "no {call} in {calls:?}");
    }
    // On a busy machine one write may have been so slow that its disk counted as slow for a moment.
    assert!(times(&calls, "write()") < 100, "small writes are direct: {calls:?}");
    assert_eq!(times(&calls, "read()") > 0, on_disk, "{calls:?}");
}

/// How often a call was made, according to the worker: `fsync() 1, read() 3`.
fn times(calls: &str, name: &str) -> usize {
    let own = calls.split(", ").find_map(|call| call.strip_prefix(name));
    own.map_or(0, |count| count.trim().parse().expect("a number"))
}

/// Whether files there lie on a disk whose page cache can be queried (ext4, XFS, Btrfs; not tmpfs or overlays).
fn has_disk(directory: &std::path::Path) -> bool {
    let kind = rustix::fs::statfs(directory).expect("it is there").f_type;
    [0xef53, 0x5846_5342, 0x9123_683e].contains(&kind)
}

//! Uploads of 200 MB, several at once: they arrive complete, take none of the worker's memory, and leave no
//! file behind.

use std::io::Write;
use std::process::{Child, Command, Stdio};
use std::thread;

use weft_tests::{Client, Running, Server, until};

const BYTES: usize = 200 << 20;
const AT_ONCE: usize = 3;
/// How much the worker's peak memory may grow: connection buffers, pages of libraries, and an instance's heap for each
/// upload.
const GROWTH_KIB_MAX: u64 = 8 << 10;

const FORM: &str = r#"<?php
$file = $_FILES['f'];
$kept = __DIR__ . "/../kept$_POST[n]";
$moved = $_POST['keep'] === 'yes' && move_uploaded_file($file['tmp_name'], $kept);
echo md5_file($moved ? $kept : $file['tmp_name']), ' ', $file['size'], ' ', $file['error'], ' ', $_POST['after'], ' ',
    memory_get_peak_usage() < 4 << 20 ? 'flat' : memory_get_peak_usage();
"#;

const RAW: &str = r#"<?php
$hash = hash_init('md5');
$bytes = hash_update_stream($hash, fopen('php://input', 'r'));
echo hash_final($hash), " $bytes 0 raw ", memory_get_peak_usage() < 4 << 20 ? 'flat' : memory_get_peak_usage();
"#;

fn server() -> Server {
    let server = Server::of_docroot(&[("form.php", FORM), ("raw.php", RAW)]);
    let own = server.directory().join("tmp");
    std::fs::create_dir(&own).expect("a new directory");
    let own = own.display().to_string();
    ["upload_max_filesize=256M", "post_max_size=256M", &format!("upload_tmp_dir={own}")]
        .iter()
        .fold(server, |server, setting| server.with("--define", setting))
        .with("--body-bytes-max", "256MiB")
        .with("--instances", "10")
        .with_variable("TMPDIR", &own)
}

/// One megabyte after another, different for each upload.
fn blocks(seed: usize) -> impl Iterator<Item = Vec<u8>> {
    let mut block: Vec<u8> = (0..1 << 20).map(|i: u32| (i.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    (0..BYTES >> 20).map(move |number| {
        block[..16].copy_from_slice(format!("{seed:8}{number:8}").as_bytes());
        block.clone()
    })
}

/// md5sum, running beside the upload.
struct Sum(Child);

impl Sum {
    fn start() -> Sum {
        let command = Command::new("md5sum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        Sum(command.expect("md5sum runs"))
    }

    fn add(&mut self, bytes: &[u8]) {
        self.0.stdin.as_mut().expect("piped").write_all(bytes).expect("it reads");
    }

    fn end(self) -> String {
        let said = self.0.wait_with_output().expect("it ends").stdout;
        String::from_utf8_lossy(&said).split(' ').next().unwrap_or_default().to_owned()
    }
}

/// Sends `before`, 200 MB and `after` as one body; returns the MD5 of the 200 MB.
fn send(client: &mut Client, head: &str, before: &str, after: &str, seed: usize) -> String {
    let length = before.len() + BYTES + after.len();
    client.send(format!("POST {head}\r\nHost: a\r\nContent-Length: {length}\r\n\r\n{before}"));
    let mut sum = Sum::start();
    for block in blocks(seed) {
        client.send(&block);
        sum.add(&block);
    }
    client.send(after);
    sum.end()
}

fn form(weft: &Running, n: usize, keep: &str) {
    let part = "--XX\r\nContent-Disposition: form-data; name=";
    let before = format!(
        "{part}\"n\"\r\n\r\n{n}\r\n{part}\"keep\"\r\n\r\n{keep}\r\n{part}\"f\"; filename=\"n\"\r\n\r\n"
    );
    let after = format!("\r\n{part}\"after\"\r\n\r\nafter{n}\r\n--XX--\r\n");
    let mut client = weft.connect();
    let head = "/form.php HTTP/1.1\r\nContent-Type: multipart/form-data; boundary=XX";
    let sum = send(&mut client, head, &before, &after, n);
    assert_eq!(client.read().text(), format!("{sum} {BYTES} 0 after{n} flat"));
    if keep == "yes" {
        let kept = weft.path(&format!("kept{n}"));
        assert_eq!(std::fs::metadata(&kept).expect("it was moved").len(), BYTES as u64);
        std::fs::remove_file(kept).expect("the test's own file");
    }
}

fn raw(weft: &Running, n: usize) {
    let mut client = weft.connect();
    let sum = send(&mut client, "/raw.php HTTP/1.1", "", "", n);
    assert_eq!(client.read().text(), format!("{sum} {BYTES} 0 raw flat"));
}

/// The worker's largest resident memory so far, shared pages included, in KiB.
fn peak_kib(worker: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{worker}/status")).expect("a living worker");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok()).expect("its peak")
}

#[test]
fn several_of_200_mb_at_once_cost_no_memory_and_leave_no_file() {
    let weft = server().start();
    let worker = weft.workers()[0];
    let mut client = weft.connect();
    client.post("/raw.php", "text/plain", "small");
    assert_eq!(client.read().status, 200);
    let open = || std::fs::read_dir(format!("/proc/{worker}/fd")).expect("it lives").count();
    let (peak, open_before) = (peak_kib(worker), open());
    thread::scope(|scope| {
        let weft = &weft;
        for n in 0..AT_ONCE {
            scope.spawn(move || form(weft, n, if n == 0 { "yes" } else { "no" }));
        }
        scope.spawn(|| raw(weft, AT_ONCE));
        // An upload whose client disconnects in the middle.
        let mut gone = weft.connect();
        gone.send(format!(
            "POST /form.php HTTP/1.1\r\nHost: a\r\nContent-Type: multipart/form-data; boundary=XX\r\nContent-Length: {BYTES}\r\n\r\n\
             --XX\r\nContent-Disposition: form-data; name=\"f\"; filename=\"n\"\r\n\r\n"
        ));
        blocks(99).take(20).for_each(|block| gone.send(block));
    });
    let grown = peak_kib(worker).saturating_sub(peak);
    assert!(grown < GROWTH_KIB_MAX, "the worker's peak grew by {grown} KiB, from {peak}");
    let left = || std::fs::read_dir(weft.path("tmp")).expect("a directory").count();
    until("temporary files to be gone", || (left() == 0).then_some(()));
    until("descriptors to be closed", || (open() <= open_before).then_some(()));
    assert_eq!(weft.workers(), [worker]);
}

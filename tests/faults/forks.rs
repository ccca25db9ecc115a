//! A handler that forks: the child is no second server.

use weft_tests::Server;

#[test]
fn a_child_of_a_handler_neither_answers_nor_serves() {
    let app = r#"return function ($r) {
            if ($r->path() !== '/fork') { return 'ok ' . getmypid(); }
            $pid = pcntl_fork();
            if ($pid === 0) {
                usleep(1000);
                file_put_contents('child', (string) getmypid());
                exit(7);
            }
            pcntl_waitpid($pid, $status);
            return json_encode([pcntl_wifexited($status), pcntl_wexitstatus($status), file_get_contents('child') === (string) $pid]);
        };"#;
    let weft = Server::new(app).start();
    let before = weft.get("/").text();
    let mut client = weft.connect();
    for _ in 0..5 {
        client.get("/fork");
        let response = client.read();
        assert_eq!(response.text(), "[true,7,true]");
        client.get("/");
        assert_eq!(client.read().text(), before, "the child answered in its parent's place");
    }
    assert!(!client.is_readable(), "somebody said more than was asked for");
}

#[test]
fn a_program_started_by_a_handler_inherits_no_connection() {
    let app = r#"return function ($r) {
            if ($r->path() === '/fds') { return shell_exec('ls -l /proc/self/fd'); }
            $GLOBALS['kept'][] = proc_open(['sleep', '600'], [], $pipes);
            return 'started';
        };"#;
    let weft = Server::new(app).start();
    let mut client = weft.connect();
    client.send("GET /start HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n");
    assert_eq!(client.read().text(), "started");
    // Were the socket open in the program as well, this end would never come.
    client.expect_closed();
    let fds = weft.get("/fds").text();
    assert!(!fds.contains("socket:"), "{fds}");
}

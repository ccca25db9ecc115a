//! One application, served in each of the three modes.
//!
//! Must not know what its pages do. Invariant: a page is asked for by the same URL in each mode and gets the same arguments.

use crate::Server;

/// A server for each mode, with its name. `pages` is PHP without its opening tag, with a function `page(string $path,
/// string $method, string $body): string`.
pub fn in_each_mode(pages: &str) -> [(&'static str, Server); 3] {
    let classic = "<?php require __DIR__ . '/../pages.inc';
        echo page($_SERVER['REQUEST_URI'], $_SERVER['REQUEST_METHOD'], file_get_contents('php://input'));";
    let resident = "<?php require __DIR__ . '/pages.inc'; while (frankenphp_handle_request(function () {
        echo page($_SERVER['REQUEST_URI'], $_SERVER['REQUEST_METHOD'], file_get_contents('php://input'));
    })) {}";
    let coroutine = "require __DIR__ . '/pages.inc';
        return fn ($r) => page($r->path(), $r->method(), (string) $r->body());";
    let servers = [
        ("classic", Server::of_docroot(&[("index.php", classic)])),
        ("resident", Server::of_script("worker.php", resident)),
        ("coroutine", Server::new(coroutine)),
    ];
    servers.map(|(mode, server)| (mode, server.with_file("pages.inc", &format!("<?php {pages}"))))
}

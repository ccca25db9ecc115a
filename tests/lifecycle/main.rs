//! A server from start to stop: what an operator does, and what must not be lost meanwhile.

mod admin;
mod binary;
mod commands;
mod dashboard;
mod extensions;
mod first_request;
mod free;
mod held;
mod insides;
mod library;
mod limits;
mod links;
mod live;
mod load;
mod logs;
mod orphans;
mod profile;
mod recycling;
mod relaxed;
mod reload;
mod rights;
mod routes;
mod shared_memory;
mod shares;
mod spans;
mod start;
mod stop;
mod supervision;
mod surplus;
mod top;

use weft_tests::Server;

/// An application that reports its version and its process, and waits or computes on request.
const APPLICATION: &str = r#"
return function (Weft\Http\Request $request): string {
    if ($file = $request->query('wait')) {
        while (!is_file($file)) { usleep(1000); clearstatcache(); }
    }
    if ($file = $request->query('spin')) {
        file_put_contents('spinning', 'yes');
        while (!is_file($file)) { clearstatcache(); } // blocks the loop: none of these calls waits
    }
    usleep((int) $request->query('us', '0'));
    return 'code one ' . getmypid();
};"#;

fn server() -> Server {
    Server::new(APPLICATION)
}

/// The same application with another version.
fn changed(word: &str) -> String {
    APPLICATION.replace("code one", &format!("code {word}"))
}

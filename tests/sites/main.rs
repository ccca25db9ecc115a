//! Several sites in one weft: whose request it is, what a site sets for its own, and that none sees anything of another.

mod apart;
mod applications;
mod choice;
mod configuration;
mod failing;
mod limits;
mod loaded;
mod many;
mod reload;
mod secure;
mod tls;

use weft_tests::{Response, Running, Server};

/// A server with this configuration and these files, and no application but its sites.
fn server(configuration: &str, files: &[(&str, &str)]) -> Server {
    let server = Server::configured().with_file("weft.toml", configuration);
    files.iter().fold(server, |server, (name, text)| server.with_file(name, text))
}

/// The response of a host to a GET request.
fn get(weft: &Running, host: &str, target: &str) -> Response {
    weft.say(format!("GET {target} HTTP/1.1\r\nHost: {host}\r\n\r\n"))
}

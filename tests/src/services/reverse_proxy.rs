//! nginx as a proxy in front of weft.

use std::net::SocketAddr;

use super::{Service, Setup, free_port};
use crate::client::Client;

/// A running nginx.
#[derive(Debug)]
pub struct ReverseProxy {
    /// The address at which it listens.
    pub address: SocketAddr,
    _nginx: Service,
}

impl ReverseProxy {
    /// Starts an nginx that passes all requests on to `upstream`, with these directives in its location.
    ///
    /// # Panics
    /// If it does not become ready; the message holds the output.
    pub fn start(upstream: SocketAddr, directives: &str) -> ReverseProxy {
        let nginx = Setup::new();
        let (run, port) = (nginx.path(""), free_port());
        let user = if rustix::process::getuid().is_root() { "user root;\n" } else { "" };
        nginx.write(
            "nginx.conf",
            &format!(
                "{user}worker_processes 1;\ndaemon off;\npid {run}nginx.pid;\nerror_log {run}nginx.log;\nevents {{}}\nhttp {{\n\
                 access_log off; client_body_temp_path {run}b; fastcgi_temp_path {run}f; proxy_temp_path {run}p;\n\
                 uwsgi_temp_path {run}u; scgi_temp_path {run}s;\n\
                 server {{ listen 127.0.0.1:{port}; location / {{ {directives}\nproxy_pass http://{upstream}; }} }} }}\n"
            ),
        );
        let conf = nginx.path("nginx.conf");
        let nginx = nginx.start("TERM", &[], "/usr/sbin/nginx", &["-c", &conf]);
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let nginx = nginx.wait_until(|| Client::try_connect(address).is_ok());
        ReverseProxy { address, _nginx: nginx }
    }
}

//! nginx with php-fpm serving a document root, configured as Debian does it (fastcgi_params,
//! snippets/fastcgi-php.conf): the usual setup of applications today, with which weft is compared.

use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::Path;

use super::{Service, Setup, free_port};
use crate::client::Client;
use crate::php;

/// Whether header lines of this name (in lower case) describe the server itself or its connection, at nginx or
/// weft.
pub fn is_own(name: &str) -> bool {
    let own = [
        "server",
        "date",
        "connection",
        "transfer-encoding",
        "content-length",
        "keep-alive",
        "etag",
        "accept-ranges",
        "vary", // nginx compresses nothing in this setup
    ];
    own.contains(&name)
}

/// A running nginx and php-fpm.
#[derive(Debug)]
pub struct Fpm {
    /// The address at which nginx listens.
    pub address: SocketAddr,
    _nginx: Service,
    _fpm: Service,
}

/// What nginx does with a path that has no file, unless a site says otherwise.
const FRONT_CONTROLLER: &str = "location / { try_files $uri $uri/ /index.php$is_args$args; }";

impl Fpm {
    /// Starts both with this many children of php-fpm and these PHP settings. The site's name is site.test.
    ///
    /// # Panics
    /// If they do not become ready; the message holds the output.
    pub fn start(docroot: &Path, children: u32, settings: &[(&str, &str)]) -> Fpm {
        Fpm::start_with(docroot, children, settings, FRONT_CONTROLLER)
    }

    /// The same with these blocks of nginx's configuration before the one for scripts.
    ///
    /// # Panics
    /// As [`Fpm::start`].
    pub fn start_with(docroot: &Path, children: u32, settings: &[(&str, &str)], locations: &str) -> Fpm {
        let as_root = rustix::process::getuid().is_root();
        let (fpm, nginx) = (Setup::new(), Setup::new());
        let (socket, run) = (fpm.path("fpm.sock"), nginx.path(""));
        let user = if as_root { "user = root\ngroup = root\n" } else { "" };
        let settings: String =
            settings.iter().map(|(name, value)| format!("php_admin_value[{name}] = {value}\n")).collect();
        fpm.write(
            "fpm.conf",
            &format!(
                "[global]\ndaemonize = no\nerror_log = /dev/stderr\n[test]\n{user}listen = {socket}\npm = static\n\
                 pm.max_children = {children}\ncatch_workers_output = yes\n{settings}"
            ),
        );
        let port = free_port();
        nginx.write(
            "nginx.conf",
            &format!(
                "{}worker_processes 1;\ndaemon off;\npid {run}nginx.pid;\nerror_log {run}nginx.log;\nevents {{}}\nhttp {{\n\
                 access_log off; include /etc/nginx/mime.types; client_body_temp_path {run}b; fastcgi_temp_path {run}f;\n\
                 proxy_temp_path {run}p; uwsgi_temp_path {run}u; scgi_temp_path {run}s; client_max_body_size 16m;\n\
                 server {{ listen 127.0.0.1:{port}; server_name site.test; root {}; index index.php;\n\
                 {locations}\n\
                 location ~ \\.php(/|$) {{ fastcgi_split_path_info ^(.+?\\.php)(/.*)$; try_files $fastcgi_script_name =404;\n\
                 set $path_info $fastcgi_path_info;\n\
                 fastcgi_param PATH_INFO $path_info; fastcgi_index index.php; include /etc/nginx/fastcgi.conf;\n\
                 fastcgi_pass unix:{socket}; }} }} }}\n",
                if as_root { "user root;\n" } else { "" },
                docroot.display()
            ),
        );
        let (pool, conf) = (fpm.path("fpm.conf"), nginx.path("nginx.conf"));
        let root = if as_root { "-R" } else { "-F" };
        // Each master ends its own workers at SIGTERM.
        let fpm = fpm.start(
            "TERM",
            &[],
            &format!("/usr/sbin/php-fpm{}", php::version()),
            &["-F", root, "-y", &pool],
        );
        // The socket's file exists before php-fpm listens on it; nginx would then answer 502.
        let fpm = fpm.wait_until(|| UnixStream::connect(&socket).is_ok());
        let nginx = nginx.start("TERM", &[], "/usr/sbin/nginx", &["-c", &conf]);
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        let nginx = nginx.wait_until(|| Client::try_connect(address).is_ok());
        Fpm { address, _nginx: nginx, _fpm: fpm }
    }
}

//! Debian's WordPress as its package ships it, with a site's usual configuration: wp-config.php one level above the
//! document root, and one plugin.

use std::path::{Path, PathBuf};
use std::process::Command;

use weft_tests::Server;
use weft_tests::services::{MariaDb, Upstream};

/// The directory where the wordpress package installs it.
const PACKAGE: &str = "/usr/share/wordpress";

/// PHP settings for both servers, in addition to Debian's php.ini.
pub const SETTINGS: [(&str, &str); 3] =
    [("sendmail_path", "/bin/true"), ("upload_max_filesize", "8M"), ("date.timezone", "UTC")];

/// A document root with WordPress, not yet installed.
pub struct Site {
    directory: tempfile::TempDir,
    name: String,
    socket: PathBuf,
}

impl Site {
    /// A `public` directory with its own database. Its pages can make slow requests to the upstream.
    pub fn new(name: &str, database: &MariaDb, upstream: &Upstream) -> Site {
        let directory =
            tempfile::Builder::new().prefix("weft-test-").tempdir().expect("a temporary directory");
        let site = Site { directory, name: name.to_owned(), socket: database.socket() };
        let copied = Command::new("cp").args(["-rL", PACKAGE]).arg(site.docroot()).status();
        assert!(
            copied.is_ok_and(|status| status.success()),
            "{PACKAGE}: tools/packages test installs wordpress"
        );
        // Debian's file looks for sites in /etc.
        std::fs::remove_file(site.docroot().join("wp-config.php")).expect("the package has one");
        site.write("wp-config.php", &configuration(name, database.port));
        let plugins = site.docroot().join("wp-content/mu-plugins");
        std::fs::create_dir_all(plugins).expect("a new directory");
        site.write("public/wp-content/mu-plugins/asks.php", &plugin(upstream.http));
        std::fs::create_dir_all(site.docroot().join("wp-content/uploads")).expect("a new directory");
        site.write("image.php", "<?php $i = imagecreatetruecolor(1200, 900);
            for ($n = 0; $n < 90; $n++) { imagefilledrectangle($i, $n * 13, $n * 10, 1200, 900, $n * 2817 * 13); }
            imagepng($i, __DIR__ . '/image.png');");
        let made = weft_tests::php::command().arg(site.path("image.php")).status();
        assert!(made.is_ok_and(|status| status.success()), "an image by GD");
        site.query("mysql", &format!("CREATE DATABASE {name}"));
        site
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("the site's own file");
    }

    pub fn docroot(&self) -> PathBuf {
        self.path("public")
    }

    /// A picture to upload, 1200 by 900.
    pub fn image(&self) -> PathBuf {
        self.path("image.png")
    }

    /// The answer of the site's database to a query.
    pub fn asked(&self, sql: &str) -> String {
        self.query(&self.name, sql)
    }

    fn query(&self, database: &str, sql: &str) -> String {
        let mut client = Command::new("mariadb");
        client.args(["--no-defaults", "--user=root", "--skip-column-names", "--execute", sql, "--socket"]);
        let said = client.arg(&self.socket).arg(database).output().expect("mariadb");
        assert!(said.status.success(), "{sql}: {}", String::from_utf8_lossy(&said.stderr));
        String::from_utf8_lossy(&said.stdout).trim().to_owned()
    }

    /// weft serving the site, with this many instances.
    pub fn server(&self, instances: &str) -> Server {
        serve(&self.docroot(), instances)
    }
}

/// weft serving a document root, with this many instances.
pub fn serve(docroot: &Path, instances: &str) -> Server {
    // On a machine that is busy with other tests, a crowd may have to wait longer than the default time-out.
    let mut server = Server::of(docroot).with("--instances", instances).with("--queue-timeout-ms", "100000");
    for (name, value) in SETTINGS {
        server = server.with("--define", &format!("{name}={value}"));
    }
    server
}

fn configuration(name: &str, port: u16) -> String {
    let keys = ["AUTH", "SECURE_AUTH", "LOGGED_IN", "NONCE"];
    let secrets: String = keys
        .iter()
        .map(|key| format!("define('{key}_KEY', 'key of {key}'); define('{key}_SALT', 'salt of {key}');\n"))
        .collect();
    format!(
        "<?php
define('DB_NAME', '{name}'); define('DB_USER', 'root'); define('DB_PASSWORD', '');
define('DB_HOST', '127.0.0.1:{port}'); define('DB_CHARSET', 'utf8mb4'); define('DB_COLLATE', '');
{secrets}$table_prefix = 'wp_';
define('WP_HOME', (isset($_SERVER['HTTPS']) ? 'https://' : 'http://') . $_SERVER['HTTP_HOST']); define('WP_SITEURL', WP_HOME);
// The site may not contact any machine of the internet for news; it may contact itself.
define('WP_HTTP_BLOCK_EXTERNAL', true); define('WP_ACCESSIBLE_HOSTS', '127.0.0.1');
define('WP_CRON_LOCK_TIMEOUT', 1);
define('FS_METHOD', 'direct');
if (!defined('ABSPATH')) {{ define('ABSPATH', __DIR__ . '/public/'); }}
require_once ABSPATH . 'wp-settings.php';
"
    )
}

/// A typical plugin: before each page it asks another server, and it puts the answer into a header and into the page's
/// footer.
fn plugin(port: u16) -> String {
    format!(
        "<?php
/* Plugin Name: Asks a slow server */
add_action('init', function (): void {{
    $visitor = preg_replace('/[^a-z0-9]/', '', $_SERVER['HTTP_X_VISITOR'] ?? '');
    if ($visitor === '') {{
        return;
    }}
    $late = (int) ($_SERVER['HTTP_X_LATE'] ?? 0);
    $said = wp_remote_retrieve_body(wp_remote_get(\"http://127.0.0.1:{port}/late/$late/$visitor\"));
    header(\"X-Visitor: $said\");
    add_action('wp_footer', fn () => print \"<p class='visitor'>for $said</p>\");
}});
"
    )
}

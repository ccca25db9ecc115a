//! The notes application, written once for Symfony and once for Laravel as Debian packages them (sites/): logging in, forms
//! with CSRF tokens, validation, uploads, templates, sessions, a database, and a queue with a worker.

use std::path::{Path, PathBuf};
use std::process::Command;

use weft_tests::command::{Output, finish};
use weft_tests::services::{MariaDb, Upstream};
use weft_tests::{Server, weft};

use weft_tests::compare::Mask;

/// PHP settings for both servers, in addition to Debian's php.ini.
pub const SETTINGS: [(&str, &str); 2] = [("date.timezone", "UTC"), ("upload_max_filesize", "8M")];

/// A framework.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framework {
    Symfony,
    Laravel,
}

impl Framework {
    pub fn name(self) -> &'static str {
        match self {
            Framework::Symfony => "symfony",
            Framework::Laravel => "laravel",
        }
    }

    /// The parts of its pages that come from chance.
    pub fn masks(self) -> &'static [Mask] {
        &[
            ("name=\"_token\" value=\"", "\""),
            ("name=\"_csrf_token\" value=\"", "\""),
            ("_token]\" value=\"", "\""),
        ]
    }

    /// The console command that creates the tables and users.
    fn install(self) -> &'static [&'static str] {
        match self {
            Framework::Symfony => &["bin/console", "app:install"],
            Framework::Laravel => &["artisan", "migrate", "--force"],
        }
    }

    /// The console command that processes the jobs one request has queued, and ends.
    fn work(self) -> &'static [&'static str] {
        match self {
            Framework::Symfony => &["bin/console", "messenger:consume", "queue", "--limit=1"],
            Framework::Laravel => &["artisan", "queue:work", "--once"],
        }
    }
}

/// The application in its own directory, with a database.
pub struct Site {
    pub framework: Framework,
    directory: tempfile::TempDir,
}

impl Site {
    pub fn new(framework: Framework, name: &str, database: &MariaDb, upstream: &Upstream) -> Site {
        let directory =
            tempfile::Builder::new().prefix("weft-test-").tempdir().expect("a temporary directory");
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("apps/sites").join(framework.name()).join(".");
        let copied = Command::new("cp").arg("-r").arg(from).arg(directory.path()).status();
        assert!(copied.is_ok_and(|status| status.success()), "the application's files");
        let site = Site { framework, directory };
        site.create_database(name, database);
        let (port, upstream) = (database.port, format!("http://127.0.0.1:{}", upstream.http));
        match framework {
            Framework::Laravel => {
                for directory in ["cache", "sessions", "views"] {
                    site.make_directory(&format!("storage/framework/{directory}"));
                }
                site.make_directory("storage/logs");
                site.make_directory("bootstrap/cache");
                let key = "base64:MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=";
                let variables =
                    format!("APP_KEY={key}\nUPSTREAM={upstream}\nDB_PORT={port}\nDB_DATABASE={name}\n");
                std::fs::write(site.path(".env"), variables).expect("the site's own file");
            }
            Framework::Symfony => {
                site.make_directory("var/sessions");
                let settings = format!(
                    "<?php\n\nreturn ['secret' => 'a secret', 'port' => {port}, 'database' => '{name}', 'upstream' => '{upstream}'];\n"
                );
                std::fs::write(site.path("site.php"), settings).expect("the site's own file");
            }
        }
        let installed = site.console(framework.install());
        assert_eq!(installed.code, Some(0), "{}{}", installed.stdout, installed.stderr);
        if framework == Framework::Laravel {
            // As deployments do: Laravel writes a compiled template in place, so a request that reads it meanwhile gets
            // half of it.
            let compiled = site.console(&["artisan", "view:cache"]);
            assert_eq!(compiled.code, Some(0), "{}{}", compiled.stdout, compiled.stderr);
        }
        site
    }

    fn make_directory(&self, name: &str) {
        std::fs::create_dir_all(self.path(name)).expect("the site's own directory");
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    pub fn docroot(&self) -> PathBuf {
        self.path("public")
    }

    /// Runs a console command with the stock php.
    fn console(&self, arguments: &[&str]) -> Output {
        finish(weft_tests::php::command().args(arguments).current_dir(self.directory.path()))
    }

    /// Processes one job of the queue with weft's command line.
    pub fn work(&self) {
        let arguments: Vec<&str> = ["php"].into_iter().chain(self.framework.work().iter().copied()).collect();
        let done = weft(self.directory.path(), &arguments);
        assert_eq!(done.code, Some(0), "{}{}", done.stdout, done.stderr);
    }

    fn create_database(&self, name: &str, database: &MariaDb) {
        let sql = format!("CREATE DATABASE {name} CHARACTER SET utf8mb4");
        let made = Command::new("mariadb")
            .args(["--no-defaults", "--user=root", "--socket"])
            .arg(database.socket())
            .args(["--execute", &sql])
            .status();
        assert!(made.is_ok_and(|status| status.success()), "{sql}");
    }

    /// weft serving the site, with this many instances.
    pub fn server(&self, instances: &str) -> Server {
        // On a machine that is busy with other tests, a crowd may have to wait longer than the default time-out.
        let mut server =
            Server::of(&self.docroot()).with("--instances", instances).with("--queue-timeout-ms", "100000");
        for (name, value) in SETTINGS {
            server = server.with("--define", &format!("{name}={value}"));
        }
        server
    }

    /// The same in resident mode: the application stays loaded in each instance.
    pub fn resident(&self, instances: &str) -> Server {
        let script = self.path("resident/index.php");
        self.server(instances)
            .with("--worker", script.to_str().expect("a path in UTF-8"))
            .with_variable("APP_RUNTIME", "Weft\\Symfony\\Runtime")
    }
}

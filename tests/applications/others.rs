//! Bookmarks, news and mail.

use super::applications::{Application, PASSWORD, compare};
use weft_tests::visitor::between;

pub fn shaarli() {
    compare(&Application {
        prepare: |place| {
            place.copy("/usr/share/shaarli", "public");
            ["data", "cache", "pagecache", "tmp", "public/cache"]
                .iter()
                .for_each(|name| place.directory(name));
            let manager = "public/application/config/ConfigManager.php";
            for (from, to) in [("/var/lib/shaarli/data", "data"), ("/var/cache/shaarli/tmp", "tmp")] {
                place.edit(manager, from, &place.path(to).display().to_string());
            }
        },
        log_in: |visitor| {
            // It asks whether cookies come back.
            ["/install", "/install/session-test"].iter().for_each(|target| drop(visitor.get(target)));
            let token = between(&visitor.get("/install"), "name=\"token\" value=\"", "\"");
            visitor.post(
                "/install",
                &[
                    ("setlogin", "boss"),
                    ("setpassword", PASSWORD),
                    ("continent", "Europe"),
                    ("city", "Berlin"),
                    ("title", "Links"),
                    ("language", "en"),
                    ("token", &token),
                ],
            );
            let token = between(&visitor.get("/login"), "name=\"token\" value=\"", "\"");
            visitor.post("/login", &[("login", "boss"), ("password", PASSWORD), ("token", &token)])
        },
        starts: &[
            "/",
            "/admin/tools",
            "/admin/shaare?post=http%3A%2F%2Fsite.test%2Fa",
            "/tags/cloud",
            "/picture-wall",
        ],
        avoids: &["logout", "/admin/shaare/delete", "/doc/"],
        masks: &[("http://site.test:", "/"), ("name=\"token\" value=\"", "\"")],
        pages_min: 20,
    });
}

pub fn tt_rss() {
    compare(&Application {
        prepare: |place| {
            place.copy("/usr/share/tt-rss/www", "public");
            let port = place.database.port;
            place.write("database.php", &format!("<?php $dbtype = 'mysql'; $dbserver = '127.0.0.1'; $dbport = '{port}'; $dbuser = 'root'; $dbpass = ''; $dbname = 'weft';"));
            place.edit(
                "public/config.php",
                "/etc/tt-rss/database.php",
                &place.path("database.php").display().to_string(),
            );
            place.edit("public/config.php", "%SELF_URL_PATH", "http://site.test/");
            place.edit("public/config.php", "/var/cache/tt-rss", &place.path("cache").display().to_string());
            place.edit("public/config.php", "/var/lib/tt-rss", &place.path("lib").display().to_string());
            [
                "cache",
                "cache/images",
                "cache/upload",
                "cache/export",
                "cache/js",
                "cache/feeds",
                "cache/starred-images",
                "lib",
                "lib/lock",
                "lib/feed-icons",
            ]
            .iter()
            .for_each(|name| place.directory(name));
            place.sql("source /usr/share/tt-rss/schema/ttrss_schema_mysql.sql");
        },
        log_in: |visitor| {
            visitor.post(
                "/public.php?return=%2F",
                &[("op", "login"), ("login", "admin"), ("password", "password"), ("profile", "0")],
            )
        },
        starts: &[
            "/",
            "/prefs.php",
            "/backend.php?op=rpc&method=sanitycheck",
            "/public.php?op=globalUpdateFeeds",
        ],
        avoids: &["logout", "op=logout"],
        masks: &[],
        pages_min: 5,
    });
}

/// Nobody can log in, because there is no mail server.
pub fn roundcube() {
    compare(&Application {
        prepare: |place| {
            place.copy("/usr/share/roundcube", "public");
            ["public/config", "public/logs", "public/temp"].iter().for_each(|name| place.directory(name));
            place.copy("/etc/roundcube/defaults.inc.php", "public/config/defaults.inc.php");
            place.copy("/etc/roundcube/mimetypes.php", "public/config/mimetypes.php");
            let file = place.path("mail.sqlite").display().to_string();
            place.write("public/config/config.inc.php", &format!("<?php $config['db_dsnw'] = 'sqlite:///{file}?mode=0646';
                $config['imap_host'] = ['127.0.0.1:1']; $config['des_key'] = str_repeat('k', 24); $config['skin'] = 'elastic'; $config['plugins'] = [];"));
            place.edit(
                "public/program/include/iniset.php",
                "'/var/lib/roundcube/'",
                "dirname(__DIR__, 2) . '/'",
            );
            place.run(&["-r", &format!("(new PDO('sqlite:{file}'))->exec(file_get_contents('public/SQL/sqlite.initial.sql'));")], "");
        },
        log_in: |visitor| {
            let token = between(&visitor.get("/"), "name=\"_token\" value=\"", "\"");
            visitor.post(
                "/?_task=login",
                &[
                    ("_token", &token),
                    ("_task", "login"),
                    ("_action", "login"),
                    ("_timezone", "UTC"),
                    ("_url", ""),
                    ("_user", "boss"),
                    ("_pass", PASSWORD),
                ],
            )
        },
        starts: &["/", "/?_task=mail", "/?_task=utils&_action=error&_code=404", "/index.php/nothing"],
        avoids: &[],
        masks: &[("request_token\":\"", "\""), ("_token\" value=\"", "\"")],
        pages_min: 15,
    });
}

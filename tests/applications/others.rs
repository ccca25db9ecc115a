//! Bookmarks, news, mail, graphs and monitoring.

use super::applications::{Application, PASSWORD, compare};
use super::place::Place;
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

pub fn cacti() {
    compare(&Application {
        prepare: |place| {
            place.copy("/usr/share/cacti/site", "public");
            let port = place.database.port;
            std::fs::remove_file(place.path("public/include/config.php")).expect("Debian has one");
            place.write("public/include/config.php", &format!("<?php $database_type = 'mysql'; $database_default = 'weft'; $database_hostname = '127.0.0.1';
                $database_username = 'root'; $database_password = ''; $database_port = '{port}'; $database_retries = 5; $database_ssl = false; $database_ssl_key = '';
                $database_ssl_cert = ''; $database_ssl_ca = ''; $database_persist = false; $poller_id = 1; $url_path = '/'; $cacti_session_name = 'Cacti';
                $cacti_db_session = false; $disable_log_rotation = false; $proxy_headers = null; $i18n_handler = null; $php_path = '';"));
            place.sql("source /usr/share/dbconfig-common/data/cacti/install/mysql");
            let version =
                std::fs::read_to_string(place.path("public/include/cacti_version")).expect("Debian has one");
            place.sql(&format!("UPDATE version SET cacti = '{}'; UPDATE user_auth SET must_change_password = '', password_change = '', password = MD5('{PASSWORD}') WHERE username = 'admin'", version.trim()));
        },
        log_in: |visitor| {
            let token = between(&visitor.get("/index.php"), "name='__csrf_magic' value=\"", "\"");
            visitor.post(
                "/index.php",
                &[
                    ("__csrf_magic", &token),
                    ("action", "login"),
                    ("login_username", "admin"),
                    ("login_password", PASSWORD),
                ],
            )
        },
        starts: &["/index.php", "/host.php", "/graph_view.php", "/settings.php"],
        avoids: &[
            "logout",
            "action=remove",
            "clear",
            "utilities.php?action=view_tech",
            "&header=false",
            "rebuild",
        ],
        masks: &[("__csrf_magic' value=\"", "\""), ("csrfMagicToken = \"", "\""), ("csrfMagicToken='", "'")],
        pages_min: 25,
    });
}

pub fn icinga_web_2() {
    compare(&Application {
        prepare: |place: &Place| {
            for part in ["public", "library", "application", "modules"] {
                place.copy(&format!("/usr/share/icingaweb2/{part}"), part);
            }
            place.directory("conf");
            let port = place.database.port;
            let conf = place.path("conf").display().to_string();
            place.edit(
                "public/index.php",
                "require_once",
                &format!("putenv('ICINGAWEB_CONFIGDIR={conf}');\nrequire_once"),
            );
            place.write("conf/config.ini", "[global]\nshow_stacktraces = \"1\"\nconfig_backend = \"db\"\nconfig_resource = \"db\"\n[logging]\nlog = \"none\"\n");
            place.write("conf/resources.ini", &format!("[db]\ntype = \"db\"\ndb = \"mysql\"\nhost = \"127.0.0.1\"\nport = \"{port}\"\ndbname = \"weft\"\nusername = \"root\"\npassword = \"\"\ncharset = \"utf8mb4\"\n"));
            place.write("conf/authentication.ini", "[db]\nbackend = \"db\"\nresource = \"db\"\n");
            place.write("conf/roles.ini", "[Administrators]\nusers = \"boss\"\npermissions = \"*\"\n");
            place.sql("source /usr/share/icingaweb2/schema/mysql.schema.sql");
            place.run(&["-r", &format!("(new PDO('mysql:host=127.0.0.1;port={port};dbname=weft', 'root', ''))->prepare('INSERT INTO icingaweb_user (name, active, password_hash) VALUES (?, 1, ?)')->execute(['boss', password_hash('{PASSWORD}', PASSWORD_DEFAULT)]);")], "");
        },
        log_in: |visitor| {
            // It asks whether cookies come back.
            ["", "?_checkCookie=1"]
                .iter()
                .for_each(|query| drop(visitor.get(&format!("/authentication/login{query}"))));
            let page = visitor.get("/authentication/login");
            let token = between(&page, "name=\"CSRFToken\" value=\"", "\"");
            let form = between(&page, "name=\"formUID\" value=\"", "\"");
            visitor.post(
                "/authentication/login",
                &[
                    ("username", "boss"),
                    ("password", PASSWORD),
                    ("rememberme", "0"),
                    ("redirect", ""),
                    ("formUID", &form),
                    ("CSRFToken", &token),
                    ("btn_submit", "Login"),
                ],
            )
        },
        starts: &[
            "/",
            "/dashboard",
            "/config/general",
            "/user/list?backend=db",
            "/about",
            "/account",
            "/config/modules",
            "/role/list",
        ],
        avoids: &["logout", "announcements"],
        // Each element has an identifier of its own, by chance.
        masks: &[
            ("CSRFToken\" value=\"", "\""),
            ("id=\"", "\""),
            ("for=\"", "\""),
            ("aria-describedby=\"", "\""),
            ("suggestions=\"#", "\""),
            ("'Icinga-", "'"),
        ],
        pages_min: 25,
    });
}

/// What a machine says of itself differs from moment to moment: these are the pages, without their values.
pub fn phpsysinfo() {
    compare(&Application {
        prepare: |place| {
            place.copy("/usr/share/phpsysinfo", "public");
            place.copy("/etc/phpsysinfo/phpsysinfo.ini", "public/phpsysinfo.ini");
        },
        log_in: |visitor| visitor.get("/"),
        starts: &[
            "/index.php?disp=dynamic",
            "/index.php?disp=bootstrap",
            "/js.php?name=phpsysinfo",
            "/language/language.php?lang=en",
            "/index.php?disp=nothing",
        ],
        avoids: &["xml.php", "disp=static"],
        masks: &[],
        pages_min: 15,
    });
}

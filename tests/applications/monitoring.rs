//! Graphs and monitoring.

use std::path::Path;

use super::applications::{Application, PASSWORD, compare};
use super::place::Place;
use weft_tests::visitor::between;

/// Where tools/packages unpacks them: of Zabbix's server, nothing else is needed.
const ZABBIX_TABLES: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/zabbix/usr/share/zabbix-server-mysql");

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
            for part in ["public", "library", "application", "modules", "schema"] {
                let from = format!("/usr/share/icingaweb2/{part}");
                // In Debian 13 the library is a package of its own, below PHP's include_path.
                if part != "library" || Path::new(&from).exists() {
                    place.copy(&from, part);
                }
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
            ("window-name=\"Icinga-", "\""),
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

/// Its server has never run: there are hosts and templates, but no values.
pub fn zabbix() {
    compare(&Application {
        prepare: |place| {
            place.copy("/usr/share/zabbix", "public");
            let port = place.database.port;
            place.write("zabbix.conf.php", &format!("<?php $DB = ['TYPE' => 'MYSQL', 'SERVER' => '127.0.0.1', 'PORT' => '{port}', 'DATABASE' => 'weft',
                'USER' => 'root', 'PASSWORD' => '', 'SCHEMA' => '', 'ENCRYPTION' => false, 'KEY_FILE' => '', 'CERT_FILE' => '', 'CA_FILE' => '', 'VERIFY_HOST' => false,
                'CIPHER_LIST' => '', 'VAULT_URL' => '', 'VAULT_DB_PATH' => '', 'VAULT_TOKEN' => '', 'DOUBLE_IEEE754' => true];
                $ZBX_SERVER = '127.0.0.1'; $ZBX_SERVER_PORT = '1'; $ZBX_SERVER_NAME = 'A site'; $IMAGE_FORMAT_DEFAULT = IMAGE_FORMAT_PNG;"));
            place.edit(
                "public/include/classes/core/CConfigFile.php",
                "/etc/zabbix/zabbix.conf.php",
                &place.path("zabbix.conf.php").display().to_string(),
            );
            place.sql("ALTER DATABASE weft CHARACTER SET utf8mb4 COLLATE utf8mb4_bin");
            ["schema", "images", "data"]
                .iter()
                .for_each(|part| place.load(&format!("{ZABBIX_TABLES}/{part}.sql.gz")));
        },
        log_in: |visitor| {
            visitor.get("/index.php");
            visitor.post(
                "/index.php",
                &[("name", "Admin"), ("password", "zabbix"), ("autologin", "1"), ("enter", "Sign in")],
            )
        },
        starts: &[
            "/index.php",
            "/zabbix.php?action=dashboard.view",
            "/zabbix.php?action=host.list",
            "/zabbix.php?action=user.list",
            "/zabbix.php?action=problem.view",
        ],
        avoids: &["reconnect=1", "auditlog"],
        // Tables have identifiers of their own, by the time and by chance.
        masks: &[("id=\"t", "\""), ("id=&quot;t", "&quot;"), ("#t", "\""), ("ZBX_SESSION_NAME = \"", "\"")],
        pages_min: 25,
    });
}

//! Administration of databases.

use super::applications::{Application, PASSWORD, compare, compare_in_slices};
use weft_tests::visitor::between;

pub fn adminer() {
    compare(&Application {
        prepare: |place| {
            place.copy("/usr/share/adminer", "public");
            // It lets nobody in without a password.
            place.sql(&format!("CREATE USER boss IDENTIFIED BY '{PASSWORD}'; GRANT ALL ON *.* TO boss"));
            place.sql("CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(50)); INSERT INTO item SELECT seq, CONCAT('item ', seq) FROM seq_1_to_100");
            place.write("public/here.php", &format!("<?php echo '127.0.0.1:{}';", place.database.port));
        },
        log_in: |visitor| {
            visitor.get("/adminer.php");
            let server = visitor.get("/here.php").text();
            visitor.post(
                "/adminer.php",
                &[
                    ("auth[driver]", "server"),
                    ("auth[server]", &server),
                    ("auth[username]", "boss"),
                    ("auth[password]", PASSWORD),
                    ("auth[db]", "weft"),
                ],
            )
        },
        starts: &["/adminer.php"],
        avoids: &["logout", "file=", "processlist", "variables", "status"],
        masks: &[
            ("', '", "')});"),
            ("nonce-", "'"),
            ("nonce=\"", "\""),
            ("'token' value='", "'"),
            ("class='time'>(", ")"),
            ("\"token\" value=\"", "\""),
        ],
        pages_min: 25,
    });
}

const PHPMYADMIN: Application = Application {
    prepare: |place| {
        place.copy("/usr/share/phpmyadmin", "public");
        place.directory("tmp");
        let port = place.database.port;
        place.write("config.php", &format!("<?php $cfg['blowfish_secret'] = str_repeat('k', 32);
            $cfg['Servers'][1] = ['auth_type' => 'cookie', 'host' => '127.0.0.1', 'port' => '{port}', 'AllowNoPassword' => true];"));
        let configuration = "public/libraries/vendor_config.php";
        place.edit(
            configuration,
            "/etc/phpmyadmin/config.inc.php",
            &place.path("config.php").display().to_string(),
        );
        place.edit(configuration, "/var/lib/phpmyadmin/tmp/", &format!("{}/", place.path("tmp").display()));
        place.sql("CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(50)); INSERT INTO item SELECT seq, CONCAT('item ', seq) FROM seq_1_to_100");
    },
    log_in: |visitor| {
        let page = visitor.get("/index.php");
        let (token, session) = (
            between(&page, "name=\"token\" value=\"", "\""),
            between(&page, "name=\"set_session\" value=\"", "\""),
        );
        visitor.post(
            "/index.php?route=/",
            &[
                ("set_session", &session),
                ("pma_username", "root"),
                ("pma_password", ""),
                ("server", "1"),
                ("route", "/"),
                ("lang", "en"),
                ("token", &token),
            ],
        )
    },
    starts: &[
        "/index.php?route=/",
        "/index.php?route=/server/sql",
        "/index.php?route=/server/export",
        "/index.php?route=/server/privileges",
    ],
    avoids: &[
        "logout",
        "/server/status",
        "/server/variables",
        "/server/engines",
        "information_schema",
        "db=mysql",
        "db=sys",
        "designer",
        "sort",
        "phpinfo",
        "doc/html",
        "url.php",
    ],
    masks: &[
        (" took ", " seconds"),
        ("data-uniqueId=\"", "\""),
        ("showAll_", "\""),
        (" took ", " seconds"),
        ("noplugin\" value=\"", "\""),
    ],
    pages_min: 25,
};

pub fn phpmyadmin() {
    compare(&PHPMYADMIN);
}

pub fn phpmyadmin_in_slices() {
    compare_in_slices(&PHPMYADMIN);
}

//! docs/guide/nginx.md: the configuration of each application is served, and its session runs.
//!
//! The applications are empty: each script says its name and its query, so that a session shows where a URL leads.

use std::path::Path;

use weft_tests::Server;

use crate::examples::{ADDRESS, expect, placed, run, steps};
use crate::markdown::{Block, Document};

const SAY: &str = "<?php echo $_SERVER['SCRIPT_NAME'], ' ', $_SERVER['QUERY_STRING'], \"\\n\";";

/// The files of an application's document root, and of directories beside it.
fn files(application: &str) -> &'static [(&'static str, &'static str)] {
    match application {
        "WordPress" => &[
            ("public/index.php", SAY),
            ("public/xmlrpc.php", SAY),
            ("public/wp-admin/index.php", SAY),
            ("public/wp-admin/async-upload.php", SAY),
            ("public/wp-content/uploads/shell.php", SAY),
            ("public/wp-includes/style.css", "body {}\n"),
        ],
        "Symfony" => {
            &[("public/index.php", SAY), ("public/info.php", SAY), ("public/build/app.css", "body {}\n")]
        }
        "Laravel" => &[("public/index.php", SAY), ("public/.env", "APP_KEY=x\n")],
        "phpMyAdmin" => &[
            ("public/index.php", SAY),
            ("phpmyadmin/index.php", SAY),
            ("phpmyadmin/setup/index.php", SAY),
            // lovelace
            ("administrators", "ada:$2y$04$CnlVLQYBJN5X.jmwX795DOgcRKBhkPRriIDHmgeFt5Rzrdjerzor6\n"),
        ],
        "MediaWiki" => &[
            ("public/w/index.php", SAY),
            ("public/w/maintenance/install.php", SAY),
            ("public/w/images/a.png", ""),
        ],
        "DokuWiki" => &[
            ("public/doku.php", SAY),
            ("public/index.php", SAY),
            ("public/lib/exe/fetch.php", SAY),
            ("public/lib/exe/detail.php", SAY),
            ("public/lib/plugin.css", "p {}\n"),
            ("public/data/pages/secret.txt", "secret\n"),
        ],
        "Server blocks" => &[("shop/public/index.php", SAY), ("blog/blog.php", SAY)],
        other => panic!("docs/guide/nginx.md: {other} has no files in this test"),
    }
}

#[test]
fn the_configuration_of_each_application_does_what_nginxs_does() {
    let document = Document::read(Path::new("docs/guide/nginx.md"));
    let blocks = document.blocks();
    let headings: Vec<(usize, String)> = document
        .prose()
        .into_iter()
        .filter_map(|(line, text)| Some((line, text.strip_prefix("## ")?.to_string())))
        .collect();
    let sessions: Vec<[&Block; 2]> = blocks
        .windows(2)
        .filter(|pair| pair[0].language == "toml" && pair[1].language == "console")
        .map(|pair| [&pair[0], &pair[1]])
        .collect();
    assert_eq!(sessions.len(), 7, "each application has a configuration and a session");
    for [configuration, session] in sessions {
        let place = format!("{}:{}", document.path.display(), session.line);
        let application = headings.iter().rfind(|(line, _)| *line < configuration.line).expect("a heading");
        let server = files(&application.1)
            .iter()
            .fold(Server::configured(), |server, (name, text)| server.with_file(name, text));
        let text = placed(&configuration.text, server.directory());
        let weft = server.with_file("weft.toml", &text).start();
        let address = weft.address.to_string();
        for step in steps(session) {
            let mut output = run(weft.directory(), &step.command.replace(ADDRESS, &address));
            output.stdout = output.stdout.replace(&address, ADDRESS);
            expect(&place, &step, &output);
        }
    }
}

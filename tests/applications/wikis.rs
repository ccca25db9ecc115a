//! Wikis.

use weft_tests::Response;
use weft_tests::visitor::{Visitor, between};

use super::applications::{Application, PASSWORD, Paths, compare, compare_with};
use super::place::Place;

/// A wiki with links of this kind (`userewrite`): 0 by query, 1 by the server's rules, 2 by PATH_INFO.
fn dokuwiki_with_links(place: &Place, kind: u8) {
    place.copy("/usr/share/dokuwiki", "public");
    place.copy("/etc/dokuwiki", "conf");
    place.copy("/var/lib/dokuwiki/data", "data");
    // In the place of Debian's, which looks for the configuration in /etc.
    std::fs::remove_file(place.path("public/inc/preload.php")).expect("the package has one");
    place.write(
        "public/inc/preload.php",
        "<?php define('DOKU_CONF', dirname(__DIR__, 2) . '/conf/'); define('DOKU_COOKIE', 'DW');",
    );
    place.write(
        "conf/local.php",
        &format!(
            "<?php $conf['title'] = 'A wiki'; $conf['savedir'] = dirname(__DIR__) . '/data'; $conf['useacl'] = 1;
            $conf['superuser'] = '@admin'; $conf['updatecheck'] = 0; $conf['userewrite'] = {kind}; $conf['passcrypt'] = 'sha1';"
        ),
    );
    place.write("conf/acl.auth.php", "*\t@ALL\t8\n");
    place.write(
        "conf/users.auth.php",
        "boss:614036b48e13a8b0e774304b438654b2d57a6c41:The Boss:boss@site.test:admin,user\n",
    );
    place.write("data/pages/start.txt", "====== Start ======\n\nTo [[other|another]] page, to [[space:page]].\n\n{{wiki:dokuwiki-128.png?64}}\n\n  * one\n  * two\n\n^ a ^ b ^\n| 1 | 2 |\n");
    place.write("data/pages/other.txt", "====== Other ======\n\n<code php>echo 1;</code>\n");
}

fn dokuwiki_login(visitor: &mut Visitor, page: &str) -> Response {
    let token = between(&visitor.get(page), "name=\"sectok\" value=\"", "\"");
    visitor
        .post(page, &[("sectok", &token), ("id", "start"), ("do", "login"), ("u", "boss"), ("p", PASSWORD)])
}

const DOKUWIKI: Application = Application {
    prepare: |place| dokuwiki_with_links(place, 2),
    log_in: |visitor| dokuwiki_login(visitor, "/doku.php/start?do=login"),
    starts: &[
        "/",
        "/doku.php/start",
        "/doku.php/other?do=edit",
        "/doku.php/start?do=admin",
        "/data/pages/start.txt",
    ],
    // What it would report to its authors tells the name of the server interface.
    avoids: &["do=logout", "taskrunner", "indexer", "page=popularity"],
    masks: &[
        ("tseed=", "\""),
        ("tok=", "&"),
        ("name=\"date\" value=\"", "\""),
        ("&amp;rev=", "\""),
        // A token for the API, whose issuer and subject these words are: then come its time and its signature.
        ("eyJpc3MiOiJkb2t1d2lraSIsInN1YiI6ImJvc3MiLCJpYXQiOj", "<"),
    ],
    pages_min: 25,
};

pub fn dokuwiki() {
    compare(&DOKUWIKI);
}

/// With the rules that the guide gives for it, and the blocks of nginx beside them there.
pub fn dokuwiki_by_rules() {
    let guide = include_str!("../../docs/guide/nginx.md");
    let section = guide.split("\n## DokuWiki\n").nth(1).expect("the guide has one");
    let block = |language: &str| {
        let rest = section.split_once(&format!("```{language}\n")).expect("the block").1;
        rest.split_once("```").expect("its end").0
    };
    let application = Application {
        prepare: |place| {
            dokuwiki_with_links(place, 1);
            // Where upstream's archive has it: only the rules hide it.
            place.copy("/var/lib/dokuwiki/data", "public/data");
        },
        log_in: |visitor| dokuwiki_login(visitor, "/start?do=login"),
        starts: &[
            "/",
            "/start",
            "/space:page",
            "/other?do=edit",
            "/start?do=admin",
            "/_media/wiki:dokuwiki-128.png?w=64&tok=bad",
            "/_media/wiki/dokuwiki-128.png",
            "/_detail/wiki:dokuwiki-128.png?id=start",
            "/_export/raw/start",
            "/_export/xhtml/other",
            "/lib/exe/css.php/more",
        ],
        ..DOKUWIKI
    };
    let paths = Paths {
        weft: block("toml"),
        nginx: Some(block("nginx")),
        refused: &[
            ("/data/pages/wiki/syntax.txt", 403),
            ("/conf/nothing.php", 403),
            ("/inc/init.php", 403),
            ("/install.php", 403),
            ("/nothing.php", 404),
            ("/nothing.php/more", 404),
        ],
    };
    compare_with(&application, &paths);
}

pub fn mediawiki() {
    compare(&Application {
        prepare: |place| {
            place.copy("/usr/share/mediawiki", "public");
            let server = format!("--dbserver=127.0.0.1:{}", place.database.port);
            let confpath = format!("--confpath={}", place.docroot().display());
            let pass = format!("--pass={PASSWORD}");
            place.run(
                &[
                    "public/maintenance/install.php",
                    &confpath,
                    &server,
                    "--dbname=weft",
                    "--dbuser=root",
                    "--dbpass=",
                    "--installdbuser=root",
                    "--installdbpass=",
                    "--scriptpath=",
                    "--server=http://site.test",
                    &pass,
                    "A wiki",
                    "Boss",
                ],
                "",
            );
            // It asks PHP_SAPI otherwise, whether addresses may have PATH_INFO, and its job runner asks the site itself.
            place.edit(
                "public/LocalSettings.php",
                "$wgScriptPath = \"\";",
                "$wgScriptPath = \"\"; $wgUsePathInfo = true; $wgJobRunRate = 0;",
            );
            // Pages that are listed by how often they were changed must not have been changed equally often.
            place.run(&["public/maintenance/edit.php", "Page"], "The first text.\n");
            place.run(&["public/maintenance/edit.php", "Page"], "== A page ==\nThis is ''new'', [[Main Page]], [[Nothing yet]], {{CURRENTMONTHNAME}}.\n\n{| class=\"wikitable\"\n|-\n| a || b\n|}\n");
            // Two changes may have been made in the same second: their order would be by chance.
            place.sql("UPDATE revision SET rev_timestamp = 20260101000000 + rev_id; UPDATE recentchanges SET rc_timestamp = 20260101000000 + rc_id");
        },
        log_in: |visitor| {
            let token = between(
                &visitor.get("/index.php?title=Special:UserLogin"),
                "name=\"wpLoginToken\" type=\"hidden\" value=\"",
                "\"",
            );
            visitor.post(
                "/index.php?title=Special:UserLogin",
                &[
                    ("wpName", "Boss"),
                    ("wpPassword", PASSWORD),
                    ("wploginattempt", "Log in"),
                    ("wpEditToken", "+\\"),
                    ("title", "Special:UserLogin"),
                    ("authAction", "login"),
                    ("force", ""),
                    ("wpLoginToken", &token),
                ],
            )
        },
        starts: &[
            "/",
            "/index.php?title=Page",
            "/index.php?title=Page&action=edit",
            "/index.php/Special:SpecialPages",
            "/api.php?action=query&meta=siteinfo&format=json",
            "/index.php?title=Page&action=history",
        ],
        // Its versions of modules differ with the directory; Preferences has the minute of the day.
        avoids: &[
            "modules=startup",
            "Preferences",
            "Changes",
            "ActiveUsers",
            "Log",
            "NewPages",
            "NewFiles",
            "feed=",
            "UserLogout",
            "Special:Random",
            "Special:Version",
            "printable",
            "Special:Export",
        ],
        masks: &[
            ("x-request-id: ", "\n"),
            ("&version=", ")"),
            ("\"phpsapi\":\"", "\""),
            ("wgPageParseReport\":", "});"),
            ("wgRequestId\":\"", "\""),
            ("wgBackendResponseTime\":", "}"),
            ("<!--", "-->"),
            ("name=\"wpEdittime", ">"),
            ("name=\"wpStarttime", ">"),
        ],
        pages_min: 25,
    });
}

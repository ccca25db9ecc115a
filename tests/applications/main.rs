//! Applications of Debian's packages, unmodified but for their configuration, walked page by page under weft and under nginx with
//! php-fpm, while every hooked call yields and every page of PHP's memory is compared; or in time slices of 0.1 ms, among others.
//!
//! Apart from `make test`, whose systems do not have these packages: make apps.

mod applications;
mod databases;
mod monitoring;
mod others;
mod place;
mod walk;
mod wikis;

use std::path::Path;
use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};

const ALL: [(&str, fn()); 14] = [
    ("links", walk::links_lead_where_a_browser_would_go),
    ("adminer", databases::adminer),
    ("cacti", monitoring::cacti),
    ("dokuwiki", wikis::dokuwiki),
    ("dokuwiki_by_rules", wikis::dokuwiki_by_rules),
    ("icinga_web_2", monitoring::icinga_web_2),
    ("mediawiki", wikis::mediawiki),
    ("phpmyadmin", databases::phpmyadmin),
    ("phpmyadmin_in_slices", databases::phpmyadmin_in_slices),
    ("phpsysinfo", monitoring::phpsysinfo),
    ("roundcube", others::roundcube),
    ("shaarli", others::shaarli),
    ("tt_rss", others::tt_rss),
    ("zabbix", monitoring::zabbix),
];

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // Each has two databases, php-fpm and weft.
    arguments.test_threads.get_or_insert(2);
    let trials = ALL.map(|(name, compare)| {
        // Debian 13 has no such package.
        let is_absent = name == "tt_rss" && !Path::new("/usr/share/tt-rss").exists();
        let trial = Trial::test(name, move || {
            compare();
            Ok(())
        });
        trial.with_ignored_flag(is_absent)
    });
    libtest_mimic::run(&arguments, trials.into()).exit_code()
}

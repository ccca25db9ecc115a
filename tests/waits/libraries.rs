//! C libraries with locks and conditions made for threads, used by coroutines, which share one thread.

use weft_tests::{Running, Server};

/// Work that fills ICU's cache: a caller that needs a value which another one is making waits for its
/// condition.
const FORMATS: &str = r#"
    $locales = ['de_DE', 'fr_FR', 'ar_EG', 'hi_IN', 'ja_JP', 'th_TH', 'pl_PL', 'ru_RU', 'fa_IR', 'sw_KE', 'zh_TW', 'he_IL'];
    $said = [];
    foreach ($locales as $locale) {
        $date = new IntlDateFormatter($locale, IntlDateFormatter::FULL, IntlDateFormatter::FULL, 'Europe/Paris');
        $number = new NumberFormatter($locale, NumberFormatter::CURRENCY);
        $plural = new MessageFormatter($locale, '{0, plural, one{# a} other{# b}} {1, number} {2, date, long}');
        $said[] = $date->format(86400 * 365) . $number->formatCurrency(1234.5, 'EUR') . $plural->format([3, 4.5, 86400])
            . Collator::create($locale)->compare('a', 'b') . IntlTimeZone::createTimeZone('Asia/Tokyo')->getDisplayName(false, 2, $locale);
    }
    $text = md5(implode($said));
"#;

/// All get the same result, whatever runs in between.
fn agree(weft: &Running) {
    let mut clients: Vec<_> = (0..24).map(|_| weft.connect()).collect();
    clients.iter_mut().for_each(|client| client.get("/"));
    let said: Vec<_> = clients.iter_mut().map(|client| client.read().text()).collect();
    assert!(said[0].len() == 32 && said.iter().all(|text| *text == said[0]), "{said:?}");
}

#[test]
fn coroutines_that_switch_inside_of_icu_do_not_wait_for_each_other_for_ever() {
    let app = format!("return function (): string {{ {FORMATS} return $text; }};");
    agree(&Server::new(&app).with_flag("--yield-at-calls").start());
}

#[test]
fn instances_that_switch_inside_icu_do_not_deadlock() {
    let script = format!("<?php (function () {{ {FORMATS} echo $text; }})();");
    agree(&Server::of_docroot(&[("index.php", &script)]).with_flag("--yield-at-calls").start());
}

//! What a file's name says about its content: a script, PHP source under another name, or something private.
//!
//! Must not access the file system. Invariant: a name that counts as a script here is never sent, and a file that may
//! hold a script's source is neither run nor sent.

/// Whether it runs: its name ends with `.php`, in lower case as in the file system.
pub fn is_script(path: &[u8]) -> bool {
    last(path).len() > 4 && path.ends_with(b".php")
}

/// The path with another suffix in the place of each `.php`; `None` if no name in it is a script's.
pub fn with_other_suffixes(path: &[u8]) -> Option<Vec<u8>> {
    let mut other = path.to_vec();
    let mut has_script = false;
    for name in other.split_mut(|byte| *byte == b'/').filter(|name| is_script(name)) {
        let at = name.len() - 3;
        name[at..].copy_from_slice(b"xyz");
        has_script = true;
    }
    has_script.then_some(other)
}

/// Whether its content is never sent: PHP source, or a name that begins with a dot.
pub fn is_unsent(path: &[u8]) -> bool {
    last(path).first() == Some(&b'.') || is_source(path)
}

/// The extensions of Debian's Apache and php-cgi, of older releases, and in common use.
const EXTENSIONS: [&str; 6] = [".php", ".phtml", ".phar", ".phps", ".pht", ".inc"];
/// Suffixes that people, editors, package managers and deployments append without a dot: `config.phpold`.
const KEPT_AS: [&str; 16] = [
    "back", "backup", "bak", "bck", "copy", "dist", "new", "old", "orig", "original", "sav", "save", "saved",
    "swo", "swp", "tmp",
];

/// Whether it would show PHP source: any of PHP's extensions, in any case, at the end of the name or before what
/// editors, backups and deployments append (`config.php~`, `index.php.bak`, `wp-config.php_old`, `config.phpbak`).
/// Other letters after the extension make it another word ("a.phpunit.xml", "a.income.csv"), but not at the end of a
/// name ("a.phpx"): no program uses such names, and a copy of a script may have any name.
pub fn is_source(path: &[u8]) -> bool {
    let name = last(path).to_ascii_lowercase();
    (0..name.len()).filter(|at| name[*at] == b'.').any(|at| {
        let word = &name[at..];
        EXTENSIONS.iter().filter(|extension| word.starts_with(extension.as_bytes())).any(|extension| {
            let behind = &word[extension.len()..];
            let letters = behind.iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
            let ends_the_name = *extension == ".php" && !word[1..].contains(&b'.');
            letters == 0 || ends_the_name || KEPT_AS.iter().any(|kept| kept.as_bytes() == &behind[..letters])
        })
    })
}

fn last(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{is_script, is_source, is_unsent, with_other_suffixes};

    #[test]
    fn sources_are_known_by_their_names() {
        let sources = "a.php A.PHP a.php~ a.php.bak a.phtml a.phar a.phps a.php5 a.php_old #a.php# a.php.orig a.inc a.pHp.txt \
            a.phpbak a.phpold a.PHPOLD a.phpbackup a.phpsave a.phporig a.phpold2 a.phpold.txt a.phpbak~ a.phpcopy a.phpx a.phpt \
            a.phptmp a.phpnew a.phpdist a.incbak a.phtmlold a.b.phpbak /x/y.z/a.phpbak a.php-dist a.php.1 a.php,v .php.swp \
            a.php.d/b.inc a.phpswp a.phpold3.txt";
        for name in sources.split_whitespace() {
            assert!(is_source(name.as_bytes()) && is_unsent(name.as_bytes()), "{name}");
        }
        let others = "a.css php a.phpunit.xml phpinfo.html a.income.csv aphp elephant.png a.phpmailer.html a.phpnews.html src.phpdoc.min.js \
            a.include.js x.incoming /a.php/b.txt a.phtmlx a.pharmacy.html .well phpstan.neon";
        for name in others.split_whitespace() {
            assert!(!is_source(name.as_bytes()), "{name}");
        }
        for (name, script) in
            [("a.php", true), ("/b/a.php", true), (".php", false), ("/b/.php", false), ("a.PHP", false)]
        {
            assert_eq!(is_script(name.as_bytes()), script, "{name}");
        }
        let other = |path: &str| with_other_suffixes(path.as_bytes());
        assert_eq!(other("/a.php/b.php/c").as_deref(), Some(&b"/a.xyz/b.xyz/c"[..]));
        assert_eq!(other("/a.phpx/.php/b"), None);
        assert!(is_unsent(b"/a/.env") && is_unsent(b".env") && !is_unsent(b"/.a/env"));
    }
}

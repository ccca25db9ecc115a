//! What an `.htaccess` file denies: `Require all denied` and `Deny from all`, for its directory or for names of files.
//!
//! It must not access the file system. Invariant: what cannot be decided here is never taken for permission. A line
//! that restricts access in another way denies it to everybody, and is named in `unread` with what it amounts to; so is
//! a line that hides single paths by rewriting, which is not applied, and a pattern of names that cannot be read here.

use regex_lite::Regex;

/// Which names a section of the file is about.
#[derive(Debug)]
enum Names {
    Like(Regex),
    /// The pattern is not understood here: it may be about every name.
    Any,
}

/// Permission or denial for some files of the directory, or below it.
#[derive(Debug)]
struct Section {
    names: Names,
    /// Its first line, with the line's number, as long as nobody was told that its pattern is not understood.
    strange: Option<String>,
    denies: bool,
}

/// What an `.htaccess` file says of access.
#[derive(Debug, Default)]
pub struct Htaccess {
    /// Whether the directory and what is below it is denied, or granted again; `None`: as above it.
    directory: Option<bool>,
    sections: Vec<Section>,
    /// Lines, with their numbers, that are not applied as they stand, and what becomes of them.
    pub unread: Vec<String>,
}

/// A section that is open at a line.
enum Open {
    /// Its lines count as if they stood outside of it: `<IfModule>`, `<RequireAny>`.
    Transparent,
    Files(usize),
    /// Its lines are about something else: `<Limit>`, `<If>`.
    Other,
}

/// What one line says of access.
enum Said {
    Denies,
    Grants,
    /// Only some clients get access.
    Restricts,
    /// It hides paths by other means.
    Hides,
}

impl Htaccess {
    /// Reads the text of an `.htaccess` file.
    pub fn read(text: &str) -> Htaccess {
        let mut read = Htaccess::default();
        let mut open = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.starts_with("</") {
                open.pop();
            } else if let Some(section) = line.strip_prefix('<') {
                let opened = read.open(number, section.trim_end_matches('>').trim());
                open.push(opened);
            } else {
                read.line(number, line, &open);
            }
        }
        read
    }

    fn open(&mut self, number: usize, section: &str) -> Open {
        let (kind, argument) = section.split_once(char::is_whitespace).unwrap_or((section, ""));
        match kind.to_ascii_lowercase().as_str() {
            "ifmodule" | "ifversion" | "ifdefine" | "requireany" | "requireall" => Open::Transparent,
            kind @ ("files" | "filesmatch") => {
                let names = names(kind, argument.trim());
                let strange = matches!(names, Names::Any).then(|| format!("line {number}: <{section}>"));
                self.sections.push(Section { names, strange, denies: false });
                Open::Files(self.sections.len() - 1)
            }
            _ => Open::Other,
        }
    }

    fn line(&mut self, number: usize, line: &str, open: &[Open]) {
        let Some(said) = said(line) else { return };
        if matches!(said, Said::Hides) || open.iter().any(|open| matches!(open, Open::Other)) {
            self.unread.push(format!("line {number}: {line}: not applied; hide what it hides"));
            return;
        }
        if matches!(said, Said::Restricts) {
            self.unread
                .push(format!("line {number}: {line}: weft knows no users here, so nobody has access"));
        }
        let files =
            open.iter().rev().find_map(|open| if let Open::Files(at) = open { Some(*at) } else { None });
        let denies = !matches!(said, Said::Grants);
        match files {
            // One denial outweighs every permission of the same section, whichever comes first.
            Some(at) => {
                let section = &mut self.sections[at];
                section.denies |= denies;
                if let Some(line) = section.strange.take_if(|_| denies) {
                    self.unread
                        .push(format!("{line}: a pattern that weft cannot read, so every file is denied"));
                }
            }
            None => self.directory = Some(denies || self.directory == Some(true)),
        }
    }

    /// Whether the file of this name, in the directory or below it, is denied; `above`: whether it is denied further up.
    pub fn denies(&self, above: bool, name: &str) -> bool {
        let directory = self.directory.unwrap_or(above);
        self.sections.iter().fold(directory, |denied, section| match &section.names {
            Names::Like(names) if names.is_match(name) => section.denies,
            Names::Like(_) => denied,
            Names::Any => denied || section.denies,
        })
    }

    /// Whether it denies anything.
    pub fn is_about_access(&self) -> bool {
        self.directory.is_some() || !self.sections.is_empty()
    }

    /// Whether it denies its whole directory.
    pub fn denies_all(&self) -> bool {
        self.directory == Some(true)
    }
}

fn said(line: &str) -> Option<Said> {
    let words: Vec<String> = line.split_whitespace().map(str::to_ascii_lowercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["require", "all", "denied", ..] | ["deny", "from", "all", ..] => Some(Said::Denies),
        ["require", "all", "granted", ..] | ["allow", "from", "all", ..] => Some(Said::Grants),
        ["require", "not", ..] | ["deny", "from", ..] => Some(Said::Hides),
        ["require", "method", ..] => None,
        ["require", ..] => Some(Said::Restricts),
        ["rewriterule", .., flags] if is_forbidding(flags) => Some(Said::Hides),
        ["redirectmatch", "403" | "404" | "410", ..] | ["redirect", "403" | "404" | "410", ..] => {
            Some(Said::Hides)
        }
        _ => None,
    }
}

/// Whether the flags of a `RewriteRule` refuse the request: `[F]`, `[R=404,L]`.
fn is_forbidding(flags: &str) -> bool {
    let flags = flags.strip_prefix('[').and_then(|flags| flags.strip_suffix(']')).unwrap_or_default();
    flags.split(',').any(|flag| matches!(flag.trim(), "f" | "forbidden" | "g" | "gone" | "r=403" | "r=404"))
}

fn names(kind: &str, argument: &str) -> Names {
    let (expression, argument) = match argument.strip_prefix('~') {
        Some(rest) => (true, rest.trim()),
        None => (kind == "filesmatch", argument),
    };
    let argument = argument.trim_matches('"');
    let pattern = if expression { argument.to_owned() } else { glob(argument) };
    Regex::new(&pattern).map_or(Names::Any, Names::Like)
}

/// A pattern with `*` and `?` as an expression.
fn glob(pattern: &str) -> String {
    let inner: String = pattern
        .chars()
        .map(|c| match c {
            '*' => "[^/]*".to_owned(),
            '?' => "[^/]".to_owned(),
            c if c.is_alphanumeric() => c.to_string(),
            c => format!("\\{c}"),
        })
        .collect();
    format!("^{inner}$")
}

#[cfg(test)]
mod tests {
    use super::Htaccess;

    fn denies(text: &str, name: &str) -> bool {
        Htaccess::read(text).denies(false, name)
    }

    #[test]
    fn the_usual_denials_are_understood_whatever_surrounds_them() {
        for text in [
            "Require all denied",
            "deny from all",
            "order allow,deny\ndeny from all\n",
            "<IfModule mod_authz_core.c>\n  Require all denied\n</IfModule>\n<IfModule !mod_authz_core.c>\n  Order allow,deny\n  Deny from all\n</IfModule>",
            "<IfVersion >= 2.4>\nRequire all denied\n</IfVersion>",
            "Order deny,allow\nDeny from all\nAllow from 127.0.0.1",
            "Require valid-user",
            "Require ip 10.0.0.0/8",
        ] {
            assert!(denies(text, "a.txt"), "{text}");
        }
        for text in [
            "",
            "# Deny from all",
            "Options -Indexes",
            "Order allow,deny\nAllow from all",
            "Require all granted",
        ] {
            assert!(!denies(text, "a.txt"), "{text}");
        }
        assert!(!Htaccess::read("Require all granted").denies(true, "a"), "below a denied directory");
        assert!(Htaccess::read("Options -Indexes").denies(true, "a"));
    }

    #[test]
    fn sections_are_about_names() {
        let docs = "<Files ~ \"^([\\._]ht|README$|VERSION$)\">\n<IfModule mod_authz_core.c>\nRequire all denied\n</IfModule>\n</Files>\n";
        assert!(
            denies(docs, "README")
                && denies(docs, ".htpasswd")
                && !denies(docs, "README.html")
                && !denies(docs, "a.css")
        );
        let logs = "<Files \"*.log\">\nDeny from all\n</Files>";
        assert!(denies(logs, "x.log") && !denies(logs, "x.logs"));
        let images = "Require all denied\n<FilesMatch \"\\.(png|css)$\">\nRequire all granted\n</FilesMatch>";
        assert!(denies(images, "a.php") && !denies(images, "a.png"));
        let strange = "<FilesMatch \"^(?!index\\.php$)\">\nRequire all denied\n</FilesMatch>";
        assert!(denies(strange, "a.txt"), "not understood, so not permitted");
        let unread = Htaccess::read(strange).unread;
        assert!(
            matches!(&unread[..], [line] if line.starts_with("line 1: <FilesMatch \"^(?!index") && line.contains("cannot read")),
            "{unread:?}"
        );
        let harmless = "<FilesMatch \"^(?!index\\.php$)\">\nExpiresActive On\n</FilesMatch>";
        assert!(Htaccess::read(harmless).unread.is_empty(), "it denies nothing");
    }

    #[test]
    fn what_is_not_applied_is_named() {
        let text = "RewriteEngine on\nRewriteRule ^/?(config|logs) - [F,L]\nDeny from 192.0.2.1\nRedirectMatch 404 /\\.git\nRequire valid-user";
        let read = Htaccess::read(text);
        assert_eq!(read.unread.len(), 4, "{:?}", read.unread);
        assert!(read.unread[0].starts_with("line 2: RewriteRule"));
        assert!(Htaccess::read("RewriteRule . index.php [L]").unread.is_empty());
    }
}

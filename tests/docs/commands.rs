//! The commands in the documents: `sh` blocks, and code spans that begin with `weft` or `make`. Each exists, with its
//! flags.

use std::collections::BTreeMap;

use crate::examples::run;
use crate::markdown::{documents, root};

/// The output of `weft VERB --help`, requested once for each verb.
#[derive(Default)]
struct Help(BTreeMap<String, String>);

impl Help {
    fn of(&mut self, verb: &str) -> &str {
        let ask = || run(&root(), &format!("weft {verb} --help")).stdout;
        self.0.entry(verb.to_string()).or_insert_with(ask)
    }

    /// Why a command line is wrong, if it is.
    fn objection(&mut self, line: &str) -> Option<String> {
        let mut words = line.split_whitespace().skip_while(|word| *word == "sudo" || word.contains('='));
        let program = words.next()?;
        let words: Vec<&str> = words.collect();
        let first = words.first().copied().unwrap_or_default();
        match program {
            "weft" if matches!(first, "--help" | "--version" | "help" | "") => None,
            "weft" => {
                let verbs = self.of("").to_string();
                let known = verbs.lines().any(|line| {
                    line.split_whitespace().next().map(|word| word.trim_end_matches(',')) == Some(first)
                });
                if !known {
                    return Some(format!("weft {first}: no such command"));
                }
                let flags =
                    words.iter().filter_map(|word| word.split('=').next().filter(|w| w.starts_with("--")));
                let mut unknown = flags.filter(|flag| first != "php" && !self.of(first).contains(*flag));
                unknown.next().map(|flag| format!("weft {first} has no {flag}"))
            }
            "make" => {
                let makefile = std::fs::read_to_string(root().join("Makefile")).unwrap_or_default();
                let target = first.to_string() + ":";
                (!makefile.lines().any(|line| line.starts_with(&target)))
                    .then(|| format!("make {first}: no such target"))
            }
            path if path.contains('/') && !path.starts_with(['/', '$', '~']) && !path.contains("://") => {
                (!root().join(path).exists()).then(|| format!("{path} is not in the repository"))
            }
            _ => None,
        }
    }
}

#[test]
fn every_command_the_documents_show_exists() {
    let mut help = Help::default();
    let mut wrong = Vec::new();
    for document in documents() {
        let mut lines: Vec<(usize, String)> = Vec::new();
        for block in document.blocks().iter().filter(|block| block.language == "sh") {
            lines.extend(block.text.lines().map(|line| (block.line, line.to_string())));
        }
        let spans = document.spans().into_iter();
        lines.extend(
            spans
                .filter(|s| s.text.starts_with("weft ") || s.text.starts_with("make "))
                .map(|s| (s.line, s.text)),
        );
        for (line, text) in lines {
            if let Some(objection) = help.objection(&text) {
                wrong.push(format!("{}:{line}: {objection}", document.path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "commands that do not exist: {wrong:#?}");
}

#[test]
fn a_wrong_command_would_be_found() {
    let mut help = Help::default();
    assert!(
        help.objection("weft sreve app.php").is_some()
            && help.objection("weft serve app.php --nonsense").is_some()
    );
    assert!(help.objection("make nonsense").is_some() && help.objection("bench/nonsense").is_some());
    assert_eq!(help.objection("weft serve app.php --listen=:80"), None);
}

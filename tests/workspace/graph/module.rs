//! One Rust module as its source declares it: its children, its imports, and the paths it writes.
//!
//! It must not resolve any name: [`super::rust`] does.

use std::collections::BTreeSet;

use super::token::{Token, closing};

/// What one `use` brings into a module.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Import {
    /// The path as written.
    pub path: Vec<String>,
    /// Its name in the module; `*` for all names of the path.
    pub name: String,
    /// Whether the module passes the name on (`pub use`, `pub(crate) use`).
    pub passed_on: bool,
}

/// The contents of a module's source.
#[derive(Default, Debug)]
pub struct Module {
    /// Children in separate files.
    pub files: Vec<String>,
    /// Children written inside this file.
    pub inline: Vec<(String, Module)>,
    pub imports: Vec<Import>,
    /// Paths of more than one name, outside of imports.
    pub paths: BTreeSet<Vec<String>>,
    /// Names the module defines.
    pub items: BTreeSet<String>,
    /// All words outside of imports.
    pub words: BTreeSet<String>,
}

impl Module {
    pub fn read(tokens: &[Token]) -> Module {
        let mut module = Module::default();
        let mut at = 0;
        let mut public = false;
        let mut depth = 0;
        while at < tokens.len() {
            let word = tokens[at].word().unwrap_or_default();
            let next = tokens.get(at + 1);
            match (word, next) {
                ("pub", Some(Token::Sign('('))) => {
                    public = true;
                    at = closing(tokens, at + 1) + 1;
                    continue;
                }
                ("pub", _) => {
                    public = true;
                    at += 1;
                    continue;
                }
                ("use", Some(Token::Word(_) | Token::Colons | Token::Sign('{'))) => {
                    let end =
                        tokens[at..].iter().position(|token| token.is(';')).map_or(tokens.len(), |n| at + n);
                    module.import(&tokens[at + 1..end], &[], public);
                    at = end + 1;
                }
                ("mod", Some(Token::Word(name))) => at = module.child(tokens, at, name),
                ("macro_rules", Some(Token::Sign('!'))) => {
                    module.items.extend(tokens.get(at + 2).and_then(Token::word).map(str::to_string));
                    at += 3;
                }
                ("", _) => {
                    depth += i32::from(tokens[at].is('{')) - i32::from(tokens[at].is('}'));
                    at += 1;
                }
                _ => at = module.path(tokens, at, depth == 0),
            }
            public = false;
        }
        module
    }

    /// `mod name;` or `mod name { … }`.
    fn child(&mut self, tokens: &[Token], at: usize, name: &str) -> usize {
        if tokens.get(at + 2).is_some_and(|token| token.is('{')) {
            let end = closing(tokens, at + 2);
            self.inline.push((name.to_string(), Module::read(&tokens[at + 3..end])));
            return end + 1;
        }
        self.files.push(name.to_string());
        at + 3
    }

    /// A word, with those that `::` joins to it. `outside` of all braces it may be the name of an item.
    fn path(&mut self, tokens: &[Token], mut at: usize, outside: bool) -> usize {
        const DEFINES: [&str; 8] = ["fn", "struct", "enum", "union", "trait", "type", "const", "static"];
        let mut path = Vec::new();
        let defines = outside && at > 0 && tokens[at - 1].word().is_some_and(|word| DEFINES.contains(&word));
        while let Some(word) = tokens.get(at).and_then(Token::word) {
            path.push(word.to_string());
            at += 1;
            if tokens.get(at) != Some(&Token::Colons) {
                break;
            }
            at += 1;
        }
        if defines {
            self.items.insert(path[0].clone());
        }
        self.words.extend(path.iter().cloned());
        if path.len() > 1 {
            self.paths.insert(path);
        }
        at
    }

    /// The tree after `use`.
    fn import(&mut self, tokens: &[Token], before: &[String], passed_on: bool) {
        let mut path = before.to_vec();
        let mut name = None;
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                Token::Word(word) if word == "as" => {
                    name = tokens.get(at + 1).and_then(Token::word).map(str::to_string);
                    at += 1;
                }
                Token::Word(word) => path.push(word.clone()),
                Token::Sign('*') => name = Some("*".to_string()),
                Token::Sign('{') => {
                    let end = closing(tokens, at);
                    for part in split(&tokens[at + 1..end]) {
                        self.import(part, &path, passed_on);
                    }
                    return;
                }
                _ => {}
            }
            at += 1;
        }
        // `use a::{self}` is `use a`.
        if path.len() > 1 && path.last().is_some_and(|word| word == "self") {
            path.pop();
        }
        if let Some(last) = path.last() {
            let name = name.unwrap_or_else(|| last.clone());
            self.imports.push(Import { path, name, passed_on });
        }
    }
}

/// The parts between the commas of a list, whatever brackets they hold.
fn split(tokens: &[Token]) -> Vec<&[Token]> {
    let mut parts = Vec::new();
    let (mut begin, mut at) = (0, 0);
    while at < tokens.len() {
        match tokens[at] {
            Token::Sign('{') => at = closing(tokens, at),
            Token::Sign(',') => {
                parts.push(&tokens[begin..at]);
                begin = at + 1;
            }
            _ => {}
        }
        at += 1;
    }
    parts.push(&tokens[begin..]);
    parts.retain(|part| !part.is_empty());
    parts
}

#[test]
fn imports_paths_and_children_are_read() {
    let text = "pub(crate) use a::{self, b::{C, D as E}, f::*}; mod g; mod h { fn i() { super::j::k(); } } struct L;";
    let module = Module::read(&super::token::product_tokens(text));
    let import = |path: &[&str], name: &str| Import {
        path: path.iter().map(|part| part.to_string()).collect(),
        name: name.to_string(),
        passed_on: true,
    };
    let expected = [
        import(&["a"], "a"),
        import(&["a", "b", "C"], "C"),
        import(&["a", "b", "D"], "E"),
        import(&["a", "f"], "*"),
    ];
    assert_eq!(module.imports, expected);
    assert_eq!(module.files, ["g"]);
    let (name, inline) = &module.inline[0];
    assert_eq!(name, "h");
    assert!(inline.paths.contains(["super", "j", "k"].map(str::to_string).as_slice()));
    assert!(module.items.contains("L"));
}

//! Rust source as tokens, without comments, the contents of literals, and code that only tests have.
//!
//! It knows only the part of the language that `mod`, `use` and paths need. Invariant: a word in a comment or a literal
//! is never a token.

/// One token of Rust source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Token {
    /// An identifier or a keyword.
    Word(String),
    /// `::`
    Colons,
    /// Any other sign.
    Sign(char),
    /// A literal or a lifetime.
    Literal,
}

impl Token {
    pub fn is(&self, sign: char) -> bool {
        *self == Token::Sign(sign)
    }

    pub fn word(&self) -> Option<&str> {
        match self {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }
}

/// The tokens of a source file that belong to the product.
pub fn product_tokens(text: &str) -> Vec<Token> {
    without_tests(&tokens(text))
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn tokens(text: &str) -> Vec<Token> {
    let text: Vec<char> = text.chars().collect();
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let (token, length) = match rest {
            ['/', '/', ..] => (None, rest.iter().position(|&c| c == '\n').unwrap_or(rest.len())),
            ['/', '*', ..] => (None, block_comment(rest)),
            ['"', ..] => (Some(Token::Literal), quoted(rest)),
            ['\'', ..] => (Some(Token::Literal), character_or_lifetime(rest)),
            [':', ':', ..] => (Some(Token::Colons), 2),
            [c, ..] if is_word(*c) => word(rest),
            [c, ..] if c.is_whitespace() => (None, 1),
            [c, ..] => (Some(Token::Sign(*c)), 1),
            [] => break,
        };
        found.extend(token);
        at += length;
    }
    found
}

/// A word, a number, or a literal that a prefix begins (`r"…"`, `c"…"`, `br#"…"#`).
fn word(text: &[char]) -> (Option<Token>, usize) {
    let length = text.iter().position(|&c| !is_word(c)).unwrap_or(text.len());
    let word: String = text[..length].iter().collect();
    let hashes = text[length..].iter().take_while(|&&c| c == '#').count();
    let quote = text.get(length + hashes) == Some(&'"');
    match word.as_str() {
        "r" | "br" | "cr" if quote => {
            let closing: Vec<char> = std::iter::once('"').chain(std::iter::repeat_n('#', hashes)).collect();
            let body = length + hashes + 1;
            let end = text[body..].windows(closing.len()).position(|part| part == closing);
            (Some(Token::Literal), end.map_or(text.len(), |end| body + end + closing.len()))
        }
        "b" | "c" if text.get(length) == Some(&'"') => {
            (Some(Token::Literal), length + quoted(&text[length..]))
        }
        "b" if text.get(length) == Some(&'\'') => {
            (Some(Token::Literal), length + character_or_lifetime(&text[length..]))
        }
        _ if word.starts_with(|c: char| c.is_ascii_digit()) => (Some(Token::Literal), length),
        _ => (Some(Token::Word(word)), length),
    }
}

fn block_comment(text: &[char]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        match &text[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn quoted(text: &[char]) -> usize {
    let mut at = 1;
    while at < text.len() && text[at] != '"' {
        at += if text[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

fn character_or_lifetime(text: &[char]) -> usize {
    match text {
        [_, '\\', _, rest @ ..] => 4 + rest.iter().position(|&c| c == '\'').unwrap_or(rest.len()),
        [_, _, '\'', ..] => 3,
        _ => 1 + text[1..].iter().position(|&c| !is_word(c)).unwrap_or(text.len() - 1),
    }
}

/// Leaves out each item with an attribute `#[cfg(…test…)]`, unless it says `not`.
fn without_tests(tokens: &[Token]) -> Vec<Token> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at].is('#') && tokens.get(at + 1).is_some_and(|token| token.is('[')) {
            let end = closing(tokens, at + 1) + 1;
            let says = |word: &str| tokens[at..end].iter().any(|token| token.word() == Some(word));
            if says("cfg") && says("test") && !says("not") {
                at = item_end(tokens, end);
            } else {
                // Attributes contain no path that counts.
                at = end;
            }
        } else {
            found.push(tokens[at].clone());
            at += 1;
        }
    }
    found
}

/// The position after an item: after its semicolon, or after its closing brace if it is neither an import nor a
/// value.
fn item_end(tokens: &[Token], mut at: usize) -> usize {
    let mut ends_with_semicolon = false;
    while at < tokens.len() {
        match &tokens[at] {
            Token::Sign(';') => return at + 1,
            Token::Sign('(' | '[') => at = closing(tokens, at) + 1,
            Token::Sign('{') => {
                at = closing(tokens, at) + 1;
                if !ends_with_semicolon {
                    return at;
                }
            }
            Token::Sign('#') => at += 1,
            token => {
                // `const fn` has a body; a `const` that is a value has an equals sign before its braces.
                ends_with_semicolon |= token.word() == Some("use") || token.is('=');
                at += 1;
            }
        }
    }
    at
}

/// The sign that closes the bracket at `at`.
pub fn closing(tokens: &[Token], at: usize) -> usize {
    let mut depth = 0;
    for (index, token) in tokens.iter().enumerate().skip(at) {
        match token {
            Token::Sign('(' | '[' | '{') => depth += 1,
            Token::Sign(')' | ']' | '}') => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return index;
        }
    }
    tokens.len() - 1
}

#[test]
fn comments_literals_and_test_code_are_left_out() {
    let text = r##"
        // one two
        /* three /* four */ */ fn a<'x>(c: &'x str) -> char { '\'' }
        const B: &str = "five \" six"; const C: &str = r#"seven "eight" "#;
        #[cfg(test)] use nine::{ten}; #[cfg(test)] mod eleven { fn twelve() {} }
        #[cfg(test)] const T: [u8; 2] = { [13, 14] };
        #[cfg(not(test))] fn last() {}
    "##;
    let found = product_tokens(text);
    let words: Vec<&str> = found.iter().filter_map(Token::word).collect();
    assert_eq!(
        words,
        ["fn", "a", "c", "str", "char", "const", "B", "str", "const", "C", "str", "fn", "last"]
    );
}

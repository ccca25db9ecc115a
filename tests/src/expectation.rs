//! The expected output of a script: exact (EXPECT) or by pattern (EXPECTF).
//!
//! The placeholders are php-src's (run-tests.php): %d digits, %i a signed integer, %f a float, %s something on one
//! line, %S something or nothing on one line, %a something, %A anything, %w white space, %x hexadecimal digits, %e a
//! directory separator, %c one character, %% a percent sign.

/// Whether `text` matches the pattern, apart from line ends at both ends.
pub fn matches(pattern: &str, text: &str) -> bool {
    let pieces = parse(pattern.trim());
    follow(&pieces, text.trim().as_bytes())
}

enum Piece {
    Byte(u8),
    /// At least the first and at most the second number of bytes of a kind.
    Run(usize, usize, fn(u8) -> bool),
}

fn parse(pattern: &str) -> Vec<Piece> {
    let any: fn(u8) -> bool = |_| true;
    let in_line: fn(u8) -> bool = |byte| byte != b'\n' && byte != b'\r';
    let mut pieces = Vec::new();
    let mut bytes = pattern.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            pieces.push(Piece::Byte(byte));
            continue;
        }
        pieces.push(match bytes.next() {
            Some(b'd') => Piece::Run(1, usize::MAX, |b| b.is_ascii_digit()),
            Some(b'i') => Piece::Run(1, usize::MAX, |b| b.is_ascii_digit() || b == b'-' || b == b'+'),
            Some(b'f') => Piece::Run(1, usize::MAX, |b| b.is_ascii_digit() || b"+-.eE".contains(&b)),
            Some(b'x') => Piece::Run(1, usize::MAX, |b| b.is_ascii_hexdigit()),
            Some(b'w') => Piece::Run(0, usize::MAX, |b| b.is_ascii_whitespace()),
            Some(b's') => Piece::Run(1, usize::MAX, in_line),
            Some(b'S') => Piece::Run(0, usize::MAX, in_line),
            Some(b'a') => Piece::Run(1, usize::MAX, any),
            Some(b'A') => Piece::Run(0, usize::MAX, any),
            Some(b'c') => Piece::Run(1, 1, in_line),
            Some(b'e') => Piece::Byte(b'/'),
            Some(b'%') => Piece::Byte(b'%'),
            other => panic!("unknown placeholder %{}", other.map_or(' ', char::from)),
        });
    }
    pieces
}

/// Follows all paths through the pattern at once, byte by byte.
fn follow(pieces: &[Piece], text: &[u8]) -> bool {
    // (piece, bytes that it has matched)
    let mut states = vec![(0, 0)];
    for byte in text {
        let mut next = Vec::new();
        for (piece, taken) in open(pieces, &states) {
            match &pieces[piece] {
                Piece::Byte(expected) if expected == byte => next.push((piece + 1, 0)),
                Piece::Run(_, most, kind) if taken < *most && kind(*byte) => {
                    next.push((piece, (taken + 1).min(2)))
                }
                _ => {}
            }
        }
        next.sort_unstable();
        next.dedup();
        states = next;
    }
    reachable(pieces, &states).iter().any(|(piece, _)| *piece == pieces.len())
}

fn open(pieces: &[Piece], states: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut found = reachable(pieces, states);
    found.retain(|(piece, _)| *piece < pieces.len());
    found
}

/// The states, and those that can follow where a run may end.
fn reachable(pieces: &[Piece], states: &[(usize, usize)]) -> Vec<(usize, usize)> {
    let mut found = states.to_vec();
    let mut at = 0;
    while at < found.len() {
        let (piece, taken) = found[at];
        if let Some(Piece::Run(least, ..)) = pieces.get(piece)
            && taken >= *least
        {
            found.push((piece + 1, 0));
        }
        at += 1;
    }
    found.sort_unstable();
    found.dedup();
    found
}

//! Questions that workers ask each other, and their answers, as bytes.
//!
//! Must not know what is asked. Invariant: what was encoded is decoded as it was; other bytes are no letter.

/// Bytes before a letter's rows.
const HEAD_BYTES: usize = 32;
/// Bytes of rows that one letter has, except for a single row that is longer.
const ROWS_BYTES_MAX: usize = 48 * 1024;

const QUESTION: u8 = 0;
const PART: u8 = 1;
const LAST: u8 = 2;

/// What a letter is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A question.
    Question,
    /// A part of an answer; more follow.
    Part,
    /// The rest of an answer.
    Last,
}

/// A letter from one worker to one other, or to all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Letter<'a> {
    /// What it is.
    pub kind: Kind,
    /// For whom; 0 for all.
    pub to: u64,
    /// From whom.
    pub from: u64,
    /// Which question of the asker.
    pub number: u64,
    /// What it says, row by row: [`rows_of`].
    pub rows: &'a [u8],
}

impl<'a> Letter<'a> {
    /// The bytes that it takes.
    pub fn encode(&self) -> Vec<u8> {
        let kind = match self.kind {
            Kind::Question => QUESTION,
            Kind::Part => PART,
            Kind::Last => LAST,
        };
        let mut bytes = Vec::with_capacity(HEAD_BYTES + self.rows.len());
        for number in [u64::from(kind), self.to, self.from, self.number] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(self.rows);
        bytes
    }

    /// The letter in these bytes.
    pub fn decode(bytes: &'a [u8]) -> Option<Letter<'a>> {
        let (head, rows) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let (words, _) = head.as_chunks::<8>();
        let [kind, to, from, number] = [0, 1, 2, 3].map(|at| u64::from_le_bytes(words[at]));
        let kind = match u8::try_from(kind) {
            Ok(QUESTION) => Kind::Question,
            Ok(PART) => Kind::Part,
            Ok(LAST) => Kind::Last,
            _ => return None,
        };
        Some(Letter { kind, to, from, number, rows })
    }
}

/// Rows as bytes: the length of each, in four bytes, and the row.
pub fn encode_rows<R: AsRef<[u8]>>(rows: &[R]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(rows.iter().map(|row| 4 + row.as_ref().len()).sum());
    for row in rows {
        bytes.extend_from_slice(&(row.as_ref().len() as u32).to_le_bytes());
        bytes.extend_from_slice(row.as_ref());
    }
    bytes
}

/// The rows in these bytes, as far as they are rows.
pub fn rows_of(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = bytes;
    std::iter::from_fn(move || {
        let (length, behind) = rest.split_first_chunk::<4>()?;
        let (row, behind) = behind.split_at_checked(u32::from_le_bytes(*length) as usize)?;
        rest = behind;
        Some(row)
    })
}

/// Splits an answer into letters that fit.
pub fn answer(rows: &[Vec<u8>], to: u64, from: u64, number: u64) -> Vec<Vec<u8>> {
    let mut parts = Vec::new();
    let (mut first, mut bytes) = (0, 0);
    for (at, row) in rows.iter().enumerate() {
        if bytes > 0 && bytes + row.len() > ROWS_BYTES_MAX {
            parts.push(&rows[first..at]);
            (first, bytes) = (at, 0);
        }
        bytes += 4 + row.len();
    }
    parts.push(&rows[first..]);
    let count = parts.len();
    let letter = |(at, part): (usize, &[Vec<u8>])| {
        let kind = if at + 1 == count { Kind::Last } else { Kind::Part };
        Letter { kind, to, from, number, rows: &encode_rows(part) }.encode()
    };
    parts.into_iter().enumerate().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_letter_is_decoded_as_it_was() {
        let rows = encode_rows(&[&b"one"[..], b"", b"three"]);
        assert_eq!(rows_of(&rows).collect::<Vec<_>>(), [&b"one"[..], b"", b"three"]);
        assert_eq!(rows_of(&rows[..rows.len() - 1]).count(), 2);
        for kind in [Kind::Question, Kind::Part, Kind::Last] {
            let letter = Letter { kind, to: 1, from: u64::MAX, number: 3, rows: &rows };
            assert_eq!(Letter::decode(&letter.encode()), Some(letter));
        }
        assert_eq!(Letter::decode(&[9; 40]), None);
    }

    #[test]
    fn a_long_answer_is_split_between_rows() {
        let rows: Vec<Vec<u8>> = (0..10_000).map(|row| format!("row {row}").into_bytes()).collect();
        let letters = answer(&rows, 1, 2, 3);
        assert!(letters.len() > 1 && letters.iter().all(|letter| letter.len() < 64 * 1024));
        let mut all = Vec::new();
        for (at, letter) in letters.iter().enumerate() {
            let letter = Letter::decode(letter).unwrap();
            assert_eq!(letter.kind == Kind::Last, at + 1 == letters.len());
            all.extend(rows_of(letter.rows).map(<[u8]>::to_vec));
        }
        assert_eq!(all, rows);
        assert_eq!(answer(&[], 1, 2, 3).len(), 1);
    }
}

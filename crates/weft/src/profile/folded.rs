//! Folded stacks: the lines of which flame graphs are made, `function;function;function count`.
//!
//! Must not know what a function is. Invariant: it holds at most [`STACKS_MAX`] stacks of [`BYTES_MAX`] bytes in all; what comes
//! beyond is counted by its first word alone.

use std::collections::BTreeMap;

/// Stacks that are told apart.
pub const STACKS_MAX: usize = 10_000;
/// Bytes of their texts.
pub const BYTES_MAX: usize = 4 << 20;
/// What a stack is called for which there is no room.
const OTHER: &str = "[more stacks than a profile holds]";

/// Stacks, and how often each was seen.
#[derive(Debug, Default)]
pub struct Folded {
    counts: BTreeMap<String, u64>,
    bytes: usize,
}

impl Folded {
    /// Counts a stack.
    pub fn add(&mut self, stack: &str, count: u64) {
        if let Some(known) = self.counts.get_mut(stack) {
            *known = known.saturating_add(count);
        } else if self.counts.len() < STACKS_MAX && self.bytes + stack.len() <= BYTES_MAX {
            self.insert(stack.to_owned(), count);
        } else {
            let kind = stack.split(';').next().unwrap_or_default();
            let other = format!("{kind};{OTHER}");
            match self.counts.get_mut(&other) {
                Some(known) => *known = known.saturating_add(count),
                // There are few kinds.
                None => self.insert(other, count),
            }
        }
    }

    fn insert(&mut self, stack: String, count: u64) {
        self.bytes += stack.len();
        self.counts.insert(stack, count);
    }

    /// Counts those of lines as [`Folded::lines`] writes them; others are passed over.
    pub fn add_lines(&mut self, lines: &str) {
        for line in lines.lines() {
            if let Some((stack, count)) = line.rsplit_once(' ')
                && let Ok(count) = count.parse()
            {
                self.add(stack, count);
            }
        }
    }

    /// Each stack with its count, in order.
    pub fn stacks(&self) -> impl Iterator<Item = (&str, u64)> {
        self.counts.iter().map(|(stack, count)| (stack.as_str(), *count))
    }

    /// A line for each stack.
    pub fn lines(&self) -> String {
        self.stacks().map(|(stack, count)| format!("{stack} {count}\n")).collect()
    }

    /// How many samples there are in all whose stack begins with this word.
    pub fn total_of(&self, kind: &str) -> u64 {
        self.of(kind).map(|(_, count)| count).sum()
    }

    /// The functions that were on top of stacks which begin with this word, the most frequent first. What stands in brackets
    /// on top says why a function waits.
    pub fn tops_of(&self, kind: &str) -> Vec<(String, u64)> {
        let mut tops: BTreeMap<String, u64> = BTreeMap::new();
        for (stack, count) in self.of(kind) {
            let mut functions = stack.rsplit(';');
            let last = functions.next().unwrap_or_default();
            let name = match functions.next().filter(|_| last.starts_with('[')) {
                Some(function) if function != kind => format!("{function} {last}"),
                _ => last.to_owned(),
            };
            *tops.entry(name).or_default() += count;
        }
        let mut tops: Vec<_> = tops.into_iter().collect();
        tops.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        tops
    }

    fn of(&self, kind: &str) -> impl Iterator<Item = (&str, u64)> {
        self.stacks().filter(move |(stack, _)| stack.split(';').next() == Some(kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_are_counted_and_written_as_lines() {
        let mut folded = Folded::default();
        folded.add_lines("on-CPU;a b;c 3\non-CPU;a b;c 4\noff-CPU;a;d;[mysql] 5\nno count\n");
        folded.add("off-CPU;[ready]", 1);
        let lines = folded.lines();
        assert_eq!(lines, "off-CPU;[ready] 1\noff-CPU;a;d;[mysql] 5\non-CPU;a b;c 7\n");
        assert_eq!((folded.total_of("on-CPU"), folded.total_of("off-CPU"), folded.total_of("on")), (7, 6, 0));
        assert_eq!(folded.tops_of("off-CPU"), [("d [mysql]".to_owned(), 5), ("[ready]".to_owned(), 1)]);
        assert_eq!(folded.tops_of("on-CPU"), [("c".to_owned(), 7)]);
    }

    #[test]
    fn more_stacks_than_there_is_room_for_are_counted_together() {
        let mut folded = Folded::default();
        for number in 0..STACKS_MAX + 5 {
            folded.add(&format!("on-CPU;f{number}"), 2);
        }
        folded.add("off-CPU;waits", 3);
        folded.add("on-CPU;f1", 1);
        assert_eq!(folded.counts.len(), STACKS_MAX + 2);
        assert_eq!(folded.counts[&format!("on-CPU;{OTHER}")], 10);
        assert_eq!((folded.total_of("on-CPU"), folded.total_of("off-CPU")), (2 * STACKS_MAX as u64 + 11, 3));
    }
}

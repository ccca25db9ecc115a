//! The part of Markdown that the project's documents use: fenced blocks, code spans, links.
//!
//! Must not know what any of it means. Invariant: each part carries the number of its line.

use std::path::{Path, PathBuf};

/// A document of the repository.
pub struct Document {
    /// Relative to the repository.
    pub path: PathBuf,
    text: String,
}

/// A fenced block.
pub struct Block {
    /// The word after the opening fence.
    pub language: String,
    /// The text between the fences.
    pub text: String,
    /// The line of the opening fence.
    pub line: usize,
}

/// A code span, and the text between it and the previous one on the same line.
pub struct Span {
    pub text: String,
    pub before: String,
    pub line: usize,
}

/// The repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ lies in the repository").to_path_buf()
}

/// All documents: those at the root, and those below docs/ and examples/.
pub fn documents() -> Vec<Document> {
    let mut found = Vec::new();
    let mut waiting = vec![root().join("docs"), root().join("examples")];
    let is_document = |path: &Path| path.extension().is_some_and(|ending| ending == "md");
    found.extend(entries(&root()).into_iter().filter(|path| is_document(path)));
    while let Some(directory) = waiting.pop() {
        for path in entries(&directory) {
            if path.is_dir() {
                waiting.push(path);
            } else if is_document(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    found.iter().map(|path| Document::read(path.strip_prefix(root()).expect("below the root"))).collect()
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).unwrap_or_else(|e| panic!("{}: {e}", directory.display()));
    entries.map(|entry| entry.expect("an entry can be read").path()).collect()
}

impl Document {
    /// Reads a document by its path in the repository.
    pub fn read(path: impl AsRef<Path>) -> Document {
        let path = path.as_ref().to_path_buf();
        let text =
            std::fs::read_to_string(root().join(&path)).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        Document { path, text }
    }

    /// Its fenced blocks, in order.
    pub fn blocks(&self) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        let mut open = false;
        for (line, text) in (1..).zip(self.text.lines()) {
            if let Some(language) = text.strip_prefix("```") {
                open = !open;
                if open {
                    blocks.push(Block { language: language.trim().to_string(), text: String::new(), line });
                }
            } else if let (true, Some(block)) = (open, blocks.last_mut()) {
                block.text.push_str(text);
                block.text.push('\n');
            }
        }
        assert!(!open, "{}: a fence is not closed", self.path.display());
        blocks
    }

    /// The lines of prose, outside of fences and indented blocks.
    pub fn prose(&self) -> Vec<(usize, &str)> {
        let mut fenced = false;
        let lines = (1..).zip(self.text.lines()).filter(move |(_, line)| {
            let fence = line.starts_with("```");
            fenced ^= fence;
            !fenced && !fence && !line.starts_with("    ")
        });
        lines.collect()
    }

    /// The code spans of its prose.
    pub fn spans(&self) -> Vec<Span> {
        let mut spans = Vec::new();
        let mut begun = String::new();
        for (line, text) in self.prose() {
            // A span may continue on the next line.
            let text = std::mem::take(&mut begun) + text;
            if text.matches('`').count() % 2 == 1 {
                begun = text + " ";
                continue;
            }
            let parts: Vec<&str> = text.split('`').collect();
            for pair in parts.chunks_exact(2) {
                spans.push(Span { before: pair[0].to_string(), text: pair[1].to_string(), line });
            }
        }
        assert!(begun.is_empty(), "{}: a code span is not closed: {begun}", self.path.display());
        spans
    }

    /// The targets of its links that are files: relative, without a fragment.
    pub fn links(&self) -> Vec<(usize, String)> {
        let mut links = Vec::new();
        for (line, text) in self.prose() {
            for rest in text.split("](").skip(1) {
                let target = rest.split([')', '#']).next().unwrap_or_default();
                if !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:") {
                    links.push((line, target.to_string()));
                }
            }
        }
        links
    }
}

//! Suggests the nearest valid name for an invalid one.
//!
//! Must not know what the names are for. Invariant: it suggests only names that were plausibly meant.

/// Similarity (Jaro-Winkler, 0 to 1) below which a suggestion would be a guess.
const SIMILARITY_MIN: f64 = 0.75;

/// The name most similar to `wrong`, if any is similar enough.
pub fn nearest<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let wrong = wrong.to_ascii_lowercase().replace('-', "_");
    names
        .map(|name| (strsim::jaro_winkler(&wrong, &name.to_ascii_lowercase().replace('-', "_")), name))
        .filter(|(similarity, _)| *similarity >= SIMILARITY_MIN)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

/// ` (did you mean X?)`, or nothing.
pub fn hint<'a>(wrong: &str, names: impl Iterator<Item = &'a str>) -> String {
    nearest(wrong, names).map(|name| format!(" (did you mean {name}?)")).unwrap_or_default()
}

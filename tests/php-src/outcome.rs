//! What became of each test on both sides, and where the sides differ.
//!
//! Must not know how tests are run. Invariant: a test that fails on both sides is the same only if it wrote the same.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Characters of a difference that are shown.
const SHOWN_MAX: usize = 1200;

/// One side: where its tests lie, and what run-tests.php says of each: PASSED, FAILED, SKIPPED…
#[derive(Debug)]
pub struct Side {
    pub tree: PathBuf,
    pub results: BTreeMap<String, String>,
}

/// Both sides.
#[derive(Debug)]
pub struct Outcomes {
    pub php: Side,
    pub weft: Side,
}

impl Outcomes {
    /// The tests that ran on either side, by their path below php-src.
    pub fn tests(&self) -> BTreeSet<String> {
        self.php.results.keys().chain(self.weft.results.keys()).cloned().collect()
    }
}

/// The tests on which the sides differ, and how.
pub fn differences(outcomes: &Outcomes) -> BTreeMap<String, String> {
    outcomes
        .tests()
        .into_iter()
        .filter_map(|test| difference(outcomes, &test).map(|how| (test, how)))
        .collect()
}

fn difference(outcomes: &Outcomes, test: &str) -> Option<String> {
    let result = |side: &Side| side.results.get(test).map_or("not run", String::as_str).to_owned();
    let (php, weft) = (result(&outcomes.php), result(&outcomes.weft));
    let written = |side: &Side, ending: &str| {
        let path = side.tree.join(test).with_extension(ending);
        plain(&std::fs::read(path).unwrap_or_default(), &side.tree)
    };
    let (said_by_php, said_by_weft) = (written(&outcomes.php, "out"), written(&outcomes.weft, "out"));
    if php != weft {
        let diff =
            if php == "FAILED" { written(&outcomes.php, "diff") } else { written(&outcomes.weft, "diff") };
        return Some(format!("php: {php}, weft: {weft}\n{}", shown(&diff)));
    }
    if php.contains("FAIL") && said_by_php != said_by_weft {
        return Some(format!("both fail; php:\n{}\nweft:\n{}", shown(&said_by_php), shown(&said_by_weft)));
    }
    None
}

/// What was written, without the place of the tree.
pub fn plain(bytes: &[u8], tree: &Path) -> String {
    String::from_utf8_lossy(bytes).replace(&tree.display().to_string(), "/php-src")
}

/// The beginning of a text.
pub fn shown(text: &str) -> String {
    text.chars().take(SHOWN_MAX).collect()
}

//! The list of `weft doctor --extensions` of what is proven for instances names tests that exist and that use the
//! extension.

use serde_json::Value;

use crate::markdown::root;
use weft_tests::weft;

fn judged() -> Vec<(String, String, String)> {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let report = weft(directory.path(), &["doctor", "--extensions", "--json"]);
    let report: Value = serde_json::from_str(&report.stdout).expect("JSON");
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    let all = report["instances"].as_array().expect("a list");
    all.iter().map(|one| (text(&one["extension"]), text(&one["fitness"]), text(&one["why"]))).collect()
}

#[test]
fn every_proof_is_a_test_that_uses_the_extension() {
    let clients = std::fs::read_to_string(root().join("tests/clients/main.rs")).expect("the suite");
    assert!(clients.contains("Script::prints_the_same_in_instances"), "clients are not run in instances");
    let page = "crates/zend/tests/instances/pages/extensions.php";
    let tests =
        std::fs::read_to_string(root().join("crates/zend/tests/instances/outside.rs")).expect("the suite");
    assert!(tests.contains("all_answer(\"extensions.php\""), "the page is not run");
    let entries = std::fs::read_to_string(root().join(page)).expect("the page");
    let judged = judged();
    let proven: Vec<_> = judged.iter().filter(|(_, fitness, _)| fitness == "proven").collect();
    assert!(proven.len() > 30, "{judged:?}");
    for (extension, _, test) in proven.iter().filter(|(extension, ..)| extension != "weft") {
        if test == page {
            assert!(
                entries.contains(&format!("    '{extension}' => function ()")),
                "{extension}: no entry in {page}"
            );
        } else {
            let scripts = std::fs::read_dir(root().join(test))
                .unwrap_or_else(|error| panic!("{extension}: {test}: {error}"));
            assert!(scripts.count() > 0 && test.starts_with("tests/clients/scripts/"), "{extension}: {test}");
        }
    }
}

#[test]
fn every_extension_that_the_tests_install_is_proven() {
    let others: Vec<_> = judged().into_iter().filter(|(_, fitness, _)| fitness != "proven").collect();
    assert!(others.is_empty(), "{others:?}");
}

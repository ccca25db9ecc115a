//! Links between documents lead somewhere.

use crate::markdown::{documents, root};

#[test]
fn every_link_to_a_file_leads_to_one() {
    let mut broken = Vec::new();
    for document in documents() {
        let directory = root().join(&document.path);
        let directory = directory.parent().expect("a file has a directory").to_path_buf();
        for (line, target) in document.links() {
            if !directory.join(&target).exists() {
                broken.push(format!("{}:{line}: {target}", document.path.display()));
            }
        }
    }
    assert!(broken.is_empty(), "links to nothing: {broken:#?}");
}

//! The uses between the Rust files of a crate.
//!
//! The rule: file A uses file B when a path in A leads to an item written in B. The path may be part of a `use` or stand
//! anywhere in the code, and it is followed through re-exports to the file that defines the name. A parent that only
//! declares and re-exports its children is a façade: neither `mod child;` nor `pub use child::Name;` is a use by itself.
//! A façade's file is used only by code that names an item defined in it, and uses only what its own code names. The
//! import of a whole module counts where the code writes a path through that module.
//!
//! Test code (`#[cfg(test)]`) is left out. Invariant: every use that is written as a path is found. Method calls, trait
//! implementations and names made by macros are not paths, and are not found.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::Graph;
use super::module::{Import, Module};
use super::token::product_tokens;

/// How many re-exports may stand between a name and its definition.
const REEXPORTS_MAX: usize = 16;

/// A module of the crate, at its place in the tree.
struct Node {
    file: String,
    parent: usize,
    children: BTreeMap<String, usize>,
    says: Module,
}

struct Crate {
    nodes: Vec<Node>,
}

/// Reads the crate whose root file this is, by a function that gives the text of a file that exists.
pub fn graph_of(root: &Path, read: &impl Fn(&Path) -> Option<String>) -> Graph {
    let mut of = Crate { nodes: Vec::new() };
    let text = read(root).unwrap_or_else(|| panic!("no {}", root.display()));
    let directory = root.parent().expect("a file lies in a directory").to_path_buf();
    of.add(root, directory, 0, Module::read(&product_tokens(&text)), read);
    let mut graph = Graph::new();
    for index in 0..of.nodes.len() {
        let file = &of.nodes[index].file;
        let used = of.used_by(index);
        let others = used.into_iter().map(|other| of.nodes[other].file.clone()).filter(|other| other != file);
        graph.entry(file.clone()).or_default().extend(others);
    }
    graph
}

/// Where a path leads: a module as a whole, or something that is written in one.
#[derive(Clone, Copy)]
enum Place {
    Module(usize),
    Inside(usize),
}

impl Crate {
    /// Adds a module and those below it. `directory` is where its children's files are.
    fn add(
        &mut self,
        file: &Path,
        directory: PathBuf,
        parent: usize,
        mut says: Module,
        read: &impl Fn(&Path) -> Option<String>,
    ) -> usize {
        let index = self.nodes.len();
        let (files, inline) = (std::mem::take(&mut says.files), std::mem::take(&mut says.inline));
        let name = file.display().to_string();
        self.nodes.push(Node { file: name, parent, children: BTreeMap::new(), says });
        for (name, child) in inline {
            let node = self.add(file, directory.join(&name), index, child, read);
            self.nodes[index].children.insert(name, node);
        }
        for name in files {
            let candidates = [directory.join(format!("{name}.rs")), directory.join(&name).join("mod.rs")];
            let (path, text) = candidates
                .iter()
                .find_map(|path| Some((path, read(path)?)))
                .unwrap_or_else(|| panic!("{}: no file for mod {name}", file.display()));
            let child = Module::read(&product_tokens(&text));
            let node = self.add(path, directory.join(&name), index, child, read);
            self.nodes[index].children.insert(name, node);
        }
        index
    }

    /// The modules whose files this module's code uses.
    fn used_by(&self, index: usize) -> BTreeSet<usize> {
        let says = &self.nodes[index].says;
        let mut used = BTreeSet::new();
        for import in &says.imports {
            if import.name == "*" {
                for place in self.resolve(index, &import.path, 0) {
                    if let Place::Module(of) = place {
                        let named = says.words.iter().flat_map(|word| self.inside(of, word, 0));
                        used.extend(named.filter_map(Place::item));
                    }
                    used.extend(place.item());
                }
            } else if !import.passed_on || says.words.contains(&import.name) {
                used.extend(self.resolve(index, &import.path, 0).into_iter().filter_map(Place::item));
            }
        }
        for path in &says.paths {
            used.extend(self.resolve(index, path, 0).into_iter().filter_map(Place::item));
        }
        used
    }

    /// The target of a path that is written in this module; nowhere if it leaves the crate.
    fn resolve(&self, from: usize, path: &[String], depth: usize) -> Vec<Place> {
        let mut rest = path;
        let mut places = vec![Place::Module(from)];
        while let Some((first, others)) = rest.split_first() {
            let here = match places[..] {
                [Place::Module(here)] => here,
                _ => break,
            };
            let base = match first.as_str() {
                "crate" => Some(0),
                "self" => Some(here),
                "super" => Some(self.nodes[here].parent),
                _ => None,
            };
            let Some(base) = base else { break };
            places = vec![Place::Module(base)];
            rest = others;
        }
        let relative = rest.len() == path.len();
        for (number, name) in rest.iter().enumerate() {
            let Some(&Place::Module(here)) = places.iter().find(|place| matches!(place, Place::Module(_)))
            else {
                return places;
            };
            let found = match self.nodes[here].children.get(name) {
                // Before `::` a name is a module; a function of the same name is not meant.
                Some(&child) if number + 1 < rest.len() => vec![Place::Module(child)],
                _ => self.inside(here, name, depth),
            };
            // The first name of a path with no anchor may be another crate's, or a type's of this module.
            if found.is_empty() && !(relative && number == 0) && !self.imports(here, name) {
                return vec![Place::Inside(here)];
            }
            places = found;
        }
        places
    }

    fn imports(&self, module: usize, name: &str) -> bool {
        self.nodes[module].says.imports.iter().any(|import| import.name == name)
    }

    /// The meaning of a name in a module: a child, an import, or an item that the module defines.
    fn inside(&self, module: usize, name: &str, depth: usize) -> Vec<Place> {
        assert!(depth < REEXPORTS_MAX, "{}: {name} leads back to itself", self.nodes[module].file);
        let node = &self.nodes[module];
        let mut found: Vec<Place> =
            node.children.get(name).map(|&child| Place::Module(child)).into_iter().collect();
        if node.says.items.contains(name) {
            found.push(Place::Inside(module));
        }
        // `use name::name;` begins with a child or with another crate, never with the name that it imports.
        let begins = |import: &Import| {
            import.path[0] != name || import.path.len() > 1 && node.children.contains_key(name)
        };
        for import in node.says.imports.iter().filter(|import| import.name == name && begins(import)) {
            found.extend(self.resolve(module, &import.path, depth + 1));
        }
        if found.is_empty() {
            for import in node.says.imports.iter().filter(|import| import.name == "*" && import.passed_on) {
                for place in self.resolve(module, &import.path, depth + 1) {
                    if let Place::Module(of) = place {
                        found.extend(self.inside(of, name, depth + 1));
                    }
                }
            }
        }
        found
    }
}

impl Place {
    fn item(self) -> Option<usize> {
        match self {
            Place::Inside(module) => Some(module),
            Place::Module(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The edges of a crate, as `from > to`.
    fn edges(files: &[(&str, &str)]) -> Vec<String> {
        let read = |path: &Path| {
            files.iter().find(|(name, _)| Path::new(name) == path).map(|(_, text)| text.to_string())
        };
        let graph = graph_of(Path::new("lib.rs"), &read);
        graph.iter().flat_map(|(from, to)| to.iter().map(move |to| format!("{from} > {to}"))).collect()
    }

    #[test]
    fn a_facade_is_looked_through() {
        let found = edges(&[
            ("lib.rs", "mod a; mod b; pub use a::One; pub(crate) use b::two;"),
            ("a.rs", "use crate::two; pub struct One; fn f() { two(); }"),
            ("b.rs", "use super::One; pub fn two() -> One { One }"),
        ]);
        assert_eq!(found, ["a.rs > b.rs", "b.rs > a.rs"]);
    }

    #[test]
    fn a_parent_with_code_of_its_own_is_none() {
        let found = edges(&[
            ("lib.rs", "mod a; pub use a::One; pub fn make() -> One { One } pub const SIZE: usize = 1;"),
            ("a/b.rs", "pub fn b() { super::super::make(); }"),
            ("a.rs", "pub mod b; pub struct One; fn f() -> usize { crate::SIZE }"),
        ]);
        assert_eq!(found, ["a.rs > lib.rs", "a/b.rs > lib.rs", "lib.rs > a.rs"]);
    }

    #[test]
    fn paths_through_modules_and_inside_inline_ones_count() {
        let found = edges(&[
            ("lib.rs", "mod a; mod b; mod c; mod d;"),
            ("a.rs", "use super::{b, c as other}; fn f() { b::x(); other::y::<crate::d::Z>(); }"),
            ("b.rs", "pub fn x() {} mod inner { fn g() { super::super::c::y(); } }"),
            ("c.rs", "use crate::a; pub fn y() {} // a::f() is only mentioned"),
            ("d/mod.rs", "mod e; pub use e::Z; pub use self::e::Z as Q;"),
            ("d/e.rs", "use super::super::b::*; pub struct Z; fn h() { x() }"),
        ]);
        assert_eq!(found, ["a.rs > b.rs", "a.rs > c.rs", "a.rs > d/e.rs", "b.rs > c.rs", "d/e.rs > b.rs"]);
    }

    #[test]
    fn test_code_and_other_crates_do_not_count() {
        let found = edges(&[
            ("lib.rs", "mod a; mod b; use libc::b; use memchr::memchr; fn f() { memchr::memrchr(); }"),
            ("a.rs", "#[cfg(test)] mod tests; #[cfg(test)] use super::b; pub fn g() {}"),
            ("b.rs", "use crate::a; fn f() { a::g() } #[cfg(test)] mod tests { use crate::a::g; }"),
        ]);
        assert_eq!(found, ["b.rs > a.rs"]);
    }

    #[test]
    fn macros_and_what_they_make_are_found() {
        let found = edges(&[
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", "macro_rules! real { () => { $crate::b::made!() } } pub(super) use real;"),
            ("b.rs", "use super::a::real; use super::a::Made; table! { Made }"),
        ]);
        assert_eq!(found, ["a.rs > b.rs", "b.rs > a.rs"]);
    }
}

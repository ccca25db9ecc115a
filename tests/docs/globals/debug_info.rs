//! Fields of structures, from the debug information of a program (DWARF), as readelf prints it.
//!
//! Must not know which program's structures they are. Invariant: a member without a name stands for the members
//! it has.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::process::Command;

/// An entry of the debug information: what it is, its name, the entry of its type, its children.
#[derive(Default)]
struct Entry {
    tag: String,
    name: Option<String>,
    kind: Option<u64>,
    children: Vec<u64>,
}

type Entries = HashMap<u64, Entry>;

fn hexadecimal(text: &str) -> Option<u64> {
    u64::from_str_radix(text, 16).ok()
}

/// ` <1><2d>: Abbrev Number: 2 (DW_TAG_base_type)`: depth, offset and tag.
fn heading(line: &str) -> Option<(usize, u64, &str)> {
    let (depth, rest) = line.strip_prefix(" <")?.split_once("><")?;
    let (offset, rest) = rest.split_once(">:")?;
    let tag = rest.rsplit_once('(').map_or("", |(_, tag)| tag.trim_end_matches(')'));
    Some((usize::from_str_radix(depth, 16).ok()?, hexadecimal(offset)?, tag))
}

/// `    <2e>   DW_AT_name        : (indirect string, offset: 0x1): a name`: attribute and value. Versions of readelf
/// print more or less detail about how the value is encoded.
fn attribute(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.trim_start().split_once(">   ")?.1.split_once(':')?;
    Some((name.trim(), value.trim()))
}

fn entries(text: &str) -> Entries {
    let mut found = Entries::new();
    let mut open: Vec<u64> = Vec::new();
    for line in text.lines() {
        if let Some((depth, offset, tag)) = heading(line) {
            open.truncate(depth);
            if let Some(parent) = open.last().and_then(|parent| found.get_mut(parent)) {
                parent.children.push(offset);
            }
            open.push(offset);
            found.insert(offset, Entry { tag: tag.to_owned(), ..Entry::default() });
        } else if let Some(entry) = open.last().and_then(|offset| found.get_mut(offset)) {
            match attribute(line) {
                Some(("DW_AT_name", text)) => entry.name = text.rsplit(' ').next().map(str::to_owned),
                Some(("DW_AT_type", text)) => {
                    let reference = text.split_once("<0x").and_then(|(_, rest)| rest.split_once('>'));
                    entry.kind = reference.and_then(|(offset, _)| hexadecimal(offset));
                }
                _ => {}
            }
        }
    }
    found
}

/// The structure or union that names, qualifiers and pointers lead to.
fn structure<'a>(entries: &'a Entries, entry: &'a Entry) -> &'a Entry {
    match entry.kind.and_then(|kind| entries.get(&kind)) {
        Some(next) if !matches!(entry.tag.as_str(), "DW_TAG_structure_type" | "DW_TAG_union_type") => {
            structure(entries, next)
        }
        _ => entry,
    }
}

fn members(entries: &Entries, of: &Entry) -> BTreeSet<String> {
    let members = of.children.iter().filter_map(|child| entries.get(child));
    members
        .filter(|member| member.tag == "DW_TAG_member")
        .flat_map(|member| match &member.name {
            Some(name) => BTreeSet::from([name.clone()]),
            None => self::members(entries, structure(entries, member)),
        })
        .collect()
}

/// For each global variable whose name has that prefix: the fields of the structure that it points to, by the rest of
/// its name.
pub fn fields(program: &Path, prefix: &str) -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new("readelf")
        .args(["--debug-dump=info", "--wide"])
        .arg(program)
        .env("LC_ALL", "C")
        .output();
    let output = output.expect("readelf, of binutils, which gcc needs");
    let entries = entries(&String::from_utf8_lossy(&output.stdout));
    entries
        .values()
        .filter(|entry| entry.tag == "DW_TAG_variable")
        .filter_map(|entry| Some((entry.name.as_ref()?.strip_prefix(prefix)?.to_owned(), entry)))
        .map(|(name, entry)| (name, members(&entries, structure(&entries, entry))))
        .collect()
}

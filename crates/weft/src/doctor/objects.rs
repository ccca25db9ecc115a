//! The shared objects of this process: which are mapped, what they import from libc, and what they need.
//!
//! Must not know which functions wait. Invariant: libc's own objects are left out, because they are below the
//! hooks.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use object::elf::FileHeader64;
use object::read::elf::{Dyn, ElfFile, FileHeader, ProgramHeader};
use object::{Endianness, Object as _, ObjectSymbol};

use super::finding::Part;

/// The objects that belong to libc: hooks lie between these and all others.
const LIBC: [&str; 10] = [
    "libc.so",
    "libm.so",
    "libdl.so",
    "librt.so",
    "libpthread.so",
    "libresolv.so",
    "ld-linux",
    "libgcc_s.so",
    "libnss_",
    "linux-vdso",
];

/// One shared object.
#[derive(Debug)]
pub struct Object {
    /// Its file, without the directory.
    pub name: String,
    /// Its file.
    pub path: PathBuf,
    /// Its role in PHP.
    pub part: Part,
    /// The functions that it imports from libc.
    pub imports: BTreeSet<String>,
    /// Whether it has variables of which each thread has its own.
    pub thread_local: bool,
    /// The functions that it exports.
    exports: BTreeSet<String>,
    /// The names of the objects it needs (`DT_NEEDED`).
    needs: Vec<String>,
    /// The name by which others need it (`DT_SONAME`), or its file's.
    soname: String,
}

/// The objects of PHP that are mapped into this process.
///
/// # Errors
/// If one cannot be read.
pub fn loaded(extensions: &Path) -> Result<Vec<Object>, String> {
    let maps =
        std::fs::read_to_string("/proc/self/maps").map_err(|error| format!("/proc/self/maps: {error}"))?;
    let program = std::env::current_exe().map_err(|error| format!("this program's own file: {error}"))?;
    // The path is the sixth column (proc_pid_maps(5)) and may contain spaces.
    let paths: BTreeSet<&str> =
        maps.lines().filter_map(|line| line.find('/').map(|start| &line[start..])).collect();
    let mut objects = Vec::new();
    for path in paths {
        let name = path.rsplit('/').next().unwrap_or(path);
        if !name.contains(".so") || Path::new(path) == program || LIBC.iter().any(|own| name.starts_with(own))
        {
            continue;
        }
        let part = match Path::new(path).parent() {
            Some(directory) if directory == extensions => Part::Extension,
            _ if name.starts_with("libphp") => Part::Php,
            _ => Part::Library,
        };
        objects.push(read(Path::new(path), name, part).map_err(|why| format!("{path}: {why}"))?);
    }
    // The rest comes from libc, and so concerns the hooks.
    let exported: BTreeSet<String> =
        objects.iter().flat_map(|object| object.exports.iter().cloned()).collect();
    objects.iter_mut().for_each(|object| object.imports.retain(|name| !exported.contains(name)));
    Ok(objects)
}

fn read(path: &Path, name: &str, part: Part) -> Result<Object, String> {
    let bytes = std::fs::read(path).map_err(|error| error.to_string())?;
    let text = |error: object::Error| error.to_string();
    let file = ElfFile::<FileHeader64<Endianness>>::parse(&*bytes).map_err(text)?;
    let names = |undefined: bool| -> BTreeSet<String> {
        let symbols = file.dynamic_symbols().filter(|symbol| symbol.is_undefined() == undefined);
        symbols.filter_map(|symbol| symbol.name().ok().map(str::to_owned)).collect()
    };
    let (needs, soname) = dynamic(&file).map_err(text)?;
    Ok(Object {
        name: name.to_owned(),
        path: path.to_owned(),
        part,
        thread_local: file
            .elf_program_headers()
            .iter()
            .any(|part| part.p_type(file.endian()) == object::elf::PT_TLS && part.p_memsz(file.endian()) > 0),
        imports: names(true),
        exports: names(false),
        needs,
        soname: soname.unwrap_or_else(|| name.to_owned()),
    })
}

/// `DT_NEEDED` and `DT_SONAME`.
fn dynamic(file: &ElfFile<'_, FileHeader64<Endianness>>) -> object::Result<(Vec<String>, Option<String>)> {
    let (endian, data) = (file.endian(), file.data());
    let sections = file.elf_header().sections(endian, data)?;
    let (mut needs, mut soname) = (Vec::new(), None);
    let Some((entries, strings)) = sections.dynamic(endian, data)? else { return Ok((needs, soname)) };
    let strings = sections.strings(endian, data, strings)?;
    for entry in entries {
        let name = |entry: &object::elf::Dyn64<Endianness>| {
            entry.string(endian, strings).map(|name| String::from_utf8_lossy(name).into_owned())
        };
        match entry.tag(endian) {
            object::elf::DT_NEEDED => needs.push(name(entry)?),
            object::elf::DT_SONAME => soname = Some(name(entry)?),
            _ => {}
        }
    }
    Ok((needs, soname))
}

/// The names of libphp and of the extensions that need `object`, directly or through other libraries.
pub fn needed_by(object: &Object, loaded: &[Object]) -> Vec<String> {
    if object.part != Part::Library {
        return Vec::new();
    }
    let mut reached = BTreeSet::from([object.soname.as_str()]);
    loop {
        let more: Vec<&str> = loaded
            .iter()
            .filter(|other| !reached.contains(other.soname.as_str()))
            .filter(|other| other.needs.iter().any(|name| reached.contains(name.as_str())))
            .map(|other| other.soname.as_str())
            .collect();
        if more.is_empty() {
            break;
        }
        reached.extend(more);
    }
    let users = loaded.iter().filter(|other| other.part != Part::Library);
    users.filter(|other| reached.contains(other.soname.as_str())).map(|other| other.name.clone()).collect()
}

//! A shared library, relaxed: its calls of functions, and its loads of addresses, become direct in the memory of this process.
//!
//! Distributions build libphp so that it can lie anywhere and others can take the place of its symbols: a call of its own
//! functions goes through a stub, and the address of each global variable is loaded first. The php command, which does the same
//! work as a program, has neither, and is faster for it. Extensions call PHP's functions in the same way. Once a library is loaded
//! all addresses are known, so that the instructions can be exchanged for those that a linker would have chosen for a program
//! ([`code`]).
//!
//! Must not know what PHP runs, nor which libraries are worth it. Invariants: only code that is in memory exactly as in its file is
//! changed, before anything of it runs in another thread; whatever is not as expected, the library stays as it is.

mod code;

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;

use gimli::{BaseAddresses, CieOrFde, EhFrame, LittleEndian, UnwindSection};
use object::{Object as _, ObjectSection as _};

pub use self::code::Relaxed;
use self::code::{Part, Tables};
/// What the sections are called that hold stubs, by the options of the linker and the compiler.
const STUBS: [&str; 3] = [".plt", ".plt.got", ".plt.sec"];

/// Relaxes a library that this process has loaded, by its file, symbolic links resolved. It takes some 30 ms for libphp, and 1 to 10 ms
/// for an extension.
///
/// # Errors
/// Why the library stays as it is, for the operator.
pub fn relax(path: &Path) -> Result<Relaxed, String> {
    let said = |what: &str, why: &dyn std::fmt::Display| format!("{what}: {why}");
    let file = std::fs::read(path).map_err(|error| said(&path.display().to_string(), &error))?;
    let elf = object::File::parse(&*file).map_err(|error| said(&path.display().to_string(), &error))?;
    let base = base_of(path)?;
    // Unlike mprotect(2), it needs no moment in which the code is writable, or cannot be executed: the kernel gives the process
    // a copy of a page that is written to, whatever its rights are (proc_pid_mem(5)).
    let memory = File::options().read(true).write(true).open("/proc/self/mem");
    let memory = memory.map_err(|error| said("/proc/self/mem", &error))?;
    let part = |name: &str| part(&elf, name, base, &memory);

    let mut text = part(".text")?.ok_or("it has no .text")?;
    let in_file = elf.section_by_name(".text").and_then(|section| section.data().ok());
    if in_file != Some(&text.bytes) {
        return Err("its code in memory is not that of its file".to_owned());
    }
    let tables = Tables {
        base,
        stubs: STUBS.iter().filter_map(|name| part(name).transpose()).collect::<Result<_, _>>()?,
        slots: part(".got")?.ok_or("it has no .got")?,
    };
    let functions = functions(&elf)?;
    let relaxed = code::relax(&mut text, &functions, &tables);
    memory
        .write_all_at(&text.bytes, base + text.address)
        .map_err(|error| said("the system does not let code be changed", &error))?;
    Ok(relaxed)
}

/// Where the first byte of the file is mapped. Its addresses count from there (elf(5), `p_vaddr`).
fn base_of(path: &Path) -> Result<u64, String> {
    let maps =
        std::fs::read_to_string("/proc/self/maps").map_err(|error| format!("/proc/self/maps: {error}"))?;
    let of_line = |line: &str| {
        // proc_pid_maps(5): address, rights, offset, device, inode, path. A file that was replaced has " (deleted)" after it.
        let mut fields = line.split_ascii_whitespace();
        let (begin, offset) = (fields.next()?.split('-').next()?, fields.nth(1)?);
        let is_it = u64::from_str_radix(offset, 16) == Ok(0) && line.ends_with(path.to_str()?);
        is_it.then(|| u64::from_str_radix(begin, 16).ok()).flatten()
    };
    maps.lines().find_map(of_line).ok_or_else(|| format!("{} is not the file that is mapped", path.display()))
}

/// A section as it is in memory; `None` if the library has none of that name.
fn part(elf: &object::File<'_>, name: &str, base: u64, memory: &File) -> Result<Option<Part>, String> {
    let Some(section) = elf.section_by_name(name) else { return Ok(None) };
    let mut bytes = vec![0; section.size() as usize];
    let read = memory.read_exact_at(&mut bytes, base + section.address());
    read.map_err(|error| format!("{name} in memory: {error}"))?;
    Ok(Some(Part { address: section.address(), bytes }))
}

/// Where functions begin and end: what is needed to unwind their frames says that of each.
fn functions(elf: &object::File<'_>) -> Result<Vec<Range<u64>>, String> {
    let text = |error: gimli::Error| format!(".eh_frame: {error}");
    let section = elf.section_by_name(".eh_frame").ok_or("it has no .eh_frame")?;
    let bytes = section.data().map_err(|error| error.to_string())?;
    let frames = EhFrame::new(bytes, LittleEndian);
    let bases = BaseAddresses::default().set_eh_frame(section.address());
    let mut entries = frames.entries(&bases);
    let mut functions = Vec::new();
    while let Some(entry) = entries.next().map_err(text)? {
        if let CieOrFde::Fde(partial) = entry {
            let one = partial.parse(|frames, bases, at| frames.cie_from_offset(bases, at)).map_err(text)?;
            functions.push(one.initial_address()..one.end_address());
        }
    }
    Ok(functions)
}

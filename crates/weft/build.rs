//! Exports the executable's symbols: libphp and its extensions must bind to the hooks of weft-rt, not to libc. And has the loader look
//! for libphp where `tools/install` puts a link to the right one, because all versions of PHP give theirs the same name.

fn main() {
    println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic");
    println!("cargo:rustc-link-arg-bins=-Wl,-rpath,$ORIGIN/../lib/weft");
    println!("cargo:rerun-if-changed=build.rs");
}

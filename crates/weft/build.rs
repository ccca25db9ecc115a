//! Exports the executable's symbols: libphp and its extensions must bind to the hooks of weft-rt, not to libc.

fn main() {
    println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic");
    println!("cargo:rerun-if-changed=build.rs");
}

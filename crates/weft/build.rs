//! Exports the executable's symbols: libphp and its extensions must bind to the hooks of weft-rt, not to libc. And has
//! the loader look for libphp where `tools/install` puts a link to the right one, because all versions of PHP give
//! theirs the same name, then where it was when weft was built, if that is a place of its own.

fn main() {
    println!("cargo:rustc-link-arg-bins=-Wl,--export-dynamic");
    println!("cargo:rustc-link-arg-bins=-Wl,-rpath,$ORIGIN/../lib/weft");
    if let Ok(directory) = std::env::var("DEP_PHP_LIBPHP") {
        println!("cargo:rustc-link-arg-bins=-Wl,-rpath,{directory}");
    }
    println!("cargo:rerun-if-changed=build.rs");
}

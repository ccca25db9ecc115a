//! Exports the symbols of tests and examples, as weft's executable does, so that the libraries they load bind
//! to the hooks.

fn main() {
    println!("cargo:rustc-link-arg-tests=-Wl,--export-dynamic");
    println!("cargo:rustc-link-arg-examples=-Wl,--export-dynamic");
    println!("cargo:rerun-if-changed=build.rs");
}

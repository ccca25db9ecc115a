//! Real applications as their packages ship them, in classic mode with instances. They are compared page by page with
//! nginx and php-fpm, then visited by many users at once while their pages wait for a slow server, then opened in a
//! real browser.
//!
//! `make test` runs the short form. With APPS=all (make apps) there are more visitors. The tests then also run with
//! every hooked call yielding to other requests, with time slices of 0.1 ms, and with every page of PHP's memory compared.

mod crowd;
mod frameworks;
mod wordpress;

/// Whether the long form is requested.
fn all() -> bool {
    std::env::var("APPS").is_ok_and(|wanted| wanted == "all")
}

/// A directory for screenshots of this application, below cargo's target directory.
fn artefacts(application: &str) -> std::path::PathBuf {
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("screenshots").join(application);
    std::fs::create_dir_all(&directory).expect("a directory for screenshots");
    directory
}

/// A small picture, made by GD.
fn image() -> Vec<u8> {
    let script =
        "$i = imagecreatetruecolor(64, 48); imagefilledellipse($i, 32, 24, 40, 30, 0x3366cc); imagepng($i);";
    let made = weft_tests::php::command().args(["-r", script]).output().expect("PHP's command");
    assert!(made.stdout.starts_with(b"\x89PNG"), "{}", String::from_utf8_lossy(&made.stderr));
    made.stdout
}

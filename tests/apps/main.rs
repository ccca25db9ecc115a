//! Real applications as their packages bring them, in classic mode with instances: compared page by page with nginx and
//! php-fpm, then with many visitors at once whose pages wait for a slow server, then in a real browser.
//!
//! `make test` runs the short form; with APPS=all (make apps) there are more visitors, and the same again with every hooked
//! call letting others run and every page of PHP's memory compared.

mod compare;
mod crowd;
mod frameworks;
mod visitor;
mod wordpress;

/// Whether everything is wanted.
fn all() -> bool {
    std::env::var("APPS").is_ok_and(|wanted| wanted == "all")
}

/// A directory for screenshots of this application, below cargo's target directory.
fn artefacts(application: &str) -> std::path::PathBuf {
    let directory = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("screenshots").join(application);
    std::fs::create_dir_all(&directory).expect("a directory for screenshots");
    directory
}

/// A small picture by GD.
fn image() -> Vec<u8> {
    let script =
        "$i = imagecreatetruecolor(64, 48); imagefilledellipse($i, 32, 24, 40, 30, 0x3366cc); imagepng($i);";
    let made = std::process::Command::new("php8.2").args(["-r", script]).output().expect("php8.2");
    assert!(made.stdout.starts_with(b"\x89PNG"), "{}", String::from_utf8_lossy(&made.stderr));
    made.stdout
}

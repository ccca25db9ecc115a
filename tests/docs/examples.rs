//! The examples of README.md, docs/ and the READMEs of examples/, run as a reader would run them.
//!
//! A `php` block that returns a handler is served; one that returns nothing is a script for `weft php`. The `console`
//! blocks after it are its session: `$ ` begins a command, the lines that follow are its output, and `…` stands for
//! anything. A `python` block between them is a client, `client.py`. A session without such a block begins with `$ weft serve examples/…`, the application that it requests.
//! A `toml` block must pass `weft check`.

use std::path::Path;
use std::process::Command;

use weft_tests::services::Authority;
use weft_tests::{Running, Server, command, until};

use crate::markdown::{Block, Document, documents, root};

/// The address at which weft listens in the documents; in the tests the kernel chooses the port.
pub const ADDRESS: &str = "127.0.0.1:8080";

/// The same for a TCP service.
const STREAM: &str = "127.0.0.1:9000";

/// The same for a second server in the session of an example.
const BESIDE: &str = "127.0.0.1:8081";

/// A socket in such a session; in the tests it is in the directory of the first server.
const SOCKET: &str = "/tmp/push.sock";

/// Documents whose examples are run.
fn guides() -> Vec<Document> {
    documents()
        .into_iter()
        .filter(|d| {
            d.path.starts_with("docs") || d.path.starts_with("examples") || d.path == Path::new("README.md")
        })
        .collect()
}

/// One command of a session and its expected output.
pub struct Step {
    pub command: String,
    output: String,
}

/// The commands of a session.
pub fn steps(block: &Block) -> Vec<Step> {
    let mut steps: Vec<Step> = Vec::new();
    for line in block.text.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step { command: command.to_string(), output: String::new() });
        } else if let Some(step) = steps.last_mut() {
            // After a backslash, a command continues on the next line.
            if let (Some(start), true) = (step.command.strip_suffix('\\'), step.output.is_empty()) {
                step.command = format!("{start}{}", line.trim_start());
            } else {
                step.output.push_str(line);
                step.output.push('\n');
            }
        }
    }
    steps
}

/// Whether `said` matches `expected`, in which `…` stands for anything.
fn matches(expected: &str, said: &str) -> bool {
    let (expected, mut rest) = (expected.trim_end(), said.trim_end());
    let mut pieces = expected.split('…');
    let first = pieces.next().unwrap_or_default();
    let Some(behind) = rest.strip_prefix(first) else { return false };
    rest = behind;
    let pieces: Vec<&str> = pieces.collect();
    let Some((last, middle)) = pieces.split_last() else { return rest.is_empty() };
    for piece in middle {
        let Some(at) = rest.find(piece) else { return false };
        rest = &rest[at + piece.len()..];
    }
    rest.ends_with(last)
}

/// Runs a line of a session in the shell, with `weft` in its path.
pub fn run(directory: &Path, line: &str) -> command::Output {
    let binary = command::binary();
    let beside = binary.parent().expect("a file has a directory");
    let path = std::env::var("PATH").unwrap_or_default();
    // timeout(1) ends the whole pipeline.
    let mut shell = Command::new("timeout");
    shell
        .args(["50", "sh", "-c", line])
        .current_dir(directory)
        // Debian's packages come before what a developer has beside them.
        .env("PATH", format!("{}:/usr/bin:{path}", beside.display()));
    command::finish(&mut shell)
}

/// Checks what a command has said.
pub fn expect(place: &str, step: &Step, output: &command::Output) {
    let said = output.stdout.replace('\r', "");
    let expected = &step.output;
    assert!(
        matches(expected, &said),
        "{place}: $ {}\n--- said ---\n{said}--- stderr ---\n{}--- should have said ---\n{expected}",
        step.command,
        output.stderr
    );
}

/// An application of a document, started when its session first sends it a request.
enum Subject {
    None,
    Waiting(Server),
    Running(Running),
    Script(tempfile::TempDir, String),
}

impl Subject {
    fn of(php: &str) -> Subject {
        if php.lines().any(|line| line.starts_with("return ")) {
            Subject::Waiting(Server::new(php.strip_prefix("<?php").unwrap_or(php)))
        } else {
            Subject::Script(tempfile::tempdir().expect("a temporary directory"), php.to_string())
        }
    }

    /// A client of the application, `client.py` beside it.
    fn give_client(&mut self, python: &str) {
        *self = match std::mem::replace(self, Subject::None) {
            Subject::Waiting(server) => Subject::Waiting(server.with_file("client.py", python)),
            Subject::Running(running) => {
                running.write("client.py", python);
                Subject::Running(running)
            }
            other => other,
        };
    }

    /// The application that a line `NAME=value weft serve examples/…` serves; it keeps its data in the server's directory.
    fn of_example(line: &str) -> Option<Server> {
        let mut words = line.split_whitespace().peekable();
        let mut variables = Vec::new();
        while let Some(variable) = words.peek().and_then(|word| word.split_once('=')) {
            variables.push(variable);
            words.next();
        }
        let path = line.split_once("weft serve ")?.1.split_whitespace().next()?;
        if !path.starts_with("examples/") {
            return None;
        }
        let application = root().join(path);
        assert!(application.exists(), "{line}: {path} is not in the repository");
        let server = match application.is_dir() {
            true => Server::of(&application),
            false => Server::new(&format!("return require '{}';", application.display())),
        };
        let data = server.directory().join("data").display().to_string();
        let server = server.with_variable("POPUP_DATA", &data);
        let set = |server: Server, (name, value): (&str, &str)| server.with_variable(name, value);
        let server = variables.into_iter().fold(server, set);
        let socket = server.directory().join("push.sock").display().to_string();
        let local = |flag: &str| {
            flag.replace(ADDRESS, "127.0.0.1:0").replace(BESIDE, "127.0.0.1:0").replace(SOCKET, &socket)
        };
        let flags: Vec<String> = words.skip(3).filter(|word| *word != "&").map(local).collect();
        let listens = flags.iter().any(|flag| flag.starts_with("--listen"));
        let server = if listens { server.listening_as_configured() } else { server };
        Some(flags.iter().fold(server, |server, flag| server.with_flag(flag)))
    }

    fn running(&mut self) -> Option<&mut Running> {
        if let Subject::Waiting(_) = self
            && let Subject::Waiting(server) = std::mem::replace(self, Subject::None)
        {
            *self = Subject::Running(server.start());
        }
        if let Subject::Running(running) = self { Some(running) } else { None }
    }

    fn step(&mut self, place: &str, step: &Step) {
        if let Some(flags) = step.command.strip_prefix("weft serve app.php") {
            let Subject::Waiting(server) = std::mem::replace(self, Subject::None) else {
                panic!("{place}: nothing to serve, or served already");
            };
            let flags = flags.replace(ADDRESS, "127.0.0.1:0").replace(STREAM, "127.0.0.1:0");
            let server = if flags.contains("--listen") { server.listening_as_configured() } else { server };
            let flags = flags.split_whitespace().filter(|word| *word != "&");
            *self = Subject::Waiting(flags.fold(server, Server::with_flag));
            return;
        }
        if let Subject::Script(directory, text) = self {
            let mut words = step.command.split_whitespace();
            let name = words.find(|word| word.ends_with(".php")).unwrap_or("script.php");
            std::fs::write(directory.path().join(name), text).expect("the test's own file");
            return expect(place, step, &run(directory.path(), &step.command));
        }
        expect(place, step, &self.answer(place, step));
    }

    /// What a command of a session says to the application that runs.
    fn answer(&mut self, place: &str, step: &Step) -> command::Output {
        let running = self.running().unwrap_or_else(|| panic!("{place}: a session without an application"));
        let address = running.address.to_string();
        let log = running.log();
        let of = |kind: &str| log.split_once(&format!("weft: listening on {kind}://"));
        let stream = of("tcp").or_else(|| of("udp")).and_then(|(_, rest)| rest.split('/').next());
        let command = step.command.replace(ADDRESS, &address).replace(STREAM, stream.unwrap_or(STREAM));
        let mut output = run(running.directory(), &command);
        output.stdout = output.stdout.replace(&address, ADDRESS);
        output
    }

    /// An example without a session must at least work.
    fn try_alone(mut self, place: &str) {
        if let Some(running) = self.running() {
            let status = running.get("/").status;
            assert!(status < 500, "{place}: GET / is answered with {status}");
        } else if let Subject::Script(directory, text) = &self {
            std::fs::write(directory.path().join("script.php"), text).expect("the test's own file");
            let output = run(directory.path(), "weft php script.php");
            assert_eq!(output.code, Some(0), "{place}: {}{}", output.stdout, output.stderr);
        }
    }
}

/// A configuration of the documents with the files of a directory in place of those of the system.
pub fn placed(text: &str, directory: &Path) -> String {
    let here = format!("{}/", directory.display());
    let text = text.replace("/usr/share/", &here).replace("/etc/weft/", &here);
    text.replace("/srv/", &here).replace("/var/log/weft/", &here)
}

fn run_examples(document: &Document) {
    let blocks = document.blocks();
    let mut blocks = blocks.iter().peekable();
    while let Some(block) = blocks.next() {
        let place = format!("{}:{}", document.path.display(), block.line);
        if block.language == "console" {
            run_session_of_an_example(&place, &steps(block));
        }
        if block.language != "php" || !block.text.starts_with("<?php") {
            continue;
        }
        let mut subject = Subject::of(&block.text);
        let mut alone = true;
        while let Some(session) =
            blocks.next_if(|next| matches!(next.language.as_str(), "console" | "python"))
        {
            alone = false;
            if session.language == "python" {
                subject.give_client(&session.text);
                continue;
            }
            let place = format!("{}:{}", document.path.display(), session.line);
            steps(session).iter().for_each(|step| subject.step(&place, step));
        }
        if alone {
            subject.try_alone(&place);
        }
    }
}

fn run_session_of_an_example(place: &str, steps: &[Step]) {
    let Some((first, others)) = steps.split_first() else { return };
    let Some(server) = Subject::of_example(&first.command) else { return };
    let socket = server.directory().join("push.sock").display().to_string();
    let mut subject = Subject::Waiting(server);
    let Some((first, others)) = others.split_first() else { return subject.try_alone(place) };
    // The service prepares its data when it starts; a reader is slower than that, this test is not.
    let here =
        |step: &Step| Step { command: step.command.replace(SOCKET, &socket), output: step.output.clone() };
    let begin = here(first);
    until(&format!("{place}: $ {}", first.command), || {
        matches(&begin.output, &subject.answer(place, &begin).stdout).then_some(())
    });
    let mut beside: Option<Running> = None;
    for step in others.iter().map(here) {
        if let Some(server) = Subject::of_example(&step.command) {
            beside = Some(server.start());
            continue;
        }
        let Some(address) = beside.as_ref().map(|beside| beside.address.to_string()) else {
            subject.step(place, &step);
            continue;
        };
        let local = Step { command: step.command.replace(BESIDE, &address), output: step.output.clone() };
        let mut output = subject.answer(place, &local);
        output.stdout = output.stdout.replace(&address, BESIDE);
        expect(place, &step, &output);
    }
}

#[test]
fn every_example_of_the_readme_and_the_docs_runs() {
    for document in guides() {
        run_examples(&document);
    }
}

#[test]
fn every_configuration_of_the_readme_and_the_docs_is_in_order() {
    for document in guides() {
        for block in document.blocks().iter().filter(|block| block.language == "toml") {
            let directory = tempfile::tempdir().expect("a temporary directory");
            let write =
                |name, text: &str| std::fs::write(directory.path().join(name), text).expect("our own file");
            write("app.php", "<?php\nreturn fn () => '';\n");
            write("weft.toml", &placed(&block.text, directory.path()));
            if block.text.contains("fullchain.pem") {
                Authority::new(directory.path()).certify("fullchain", "DNS:example.org", 9);
                std::fs::rename(directory.path().join("fullchain.key"), directory.path().join("privkey.pem"))
                    .expect("the authority has written it");
            }
            // Rules are for document roots.
            let has_rules = block.text.contains("[[rule]]");
            for name in ["public", "phpmyadmin"].iter().filter(|_| has_rules) {
                std::fs::create_dir(directory.path().join(name)).expect("a new directory");
            }
            for name in ["administrators", "staff"].iter().filter(|_| has_rules) {
                write(name, "ada:{SHA}jYGu/kM/PVNX1CqxzvbqC0fOqls=\n");
            }
            let roots = block.text.lines().filter_map(|line| line.strip_prefix("root = \"/srv/"));
            for root in roots.clone() {
                let root = directory.path().join(root.trim_end_matches('"'));
                std::fs::create_dir_all(root).expect("a new directory");
            }
            let scripts = block.text.lines().filter_map(|line| line.strip_prefix("worker = \"/srv/"));
            for script in scripts {
                let script = script.trim_end_matches('"');
                write(script, "<?php while (frankenphp_handle_request(fn () => print 'Hello')) {}\n");
            }
            if block.text.contains("blog.pem") {
                Authority::new(directory.path()).certify("blog", "DNS:blog.example", 9);
            }
            let application = match () {
                () if roots.count() > 0 => "", // its sites
                () if has_rules => "public",
                () => "app.php",
            };
            let output = run(directory.path(), &format!("weft check {application}"));
            assert_eq!(output.code, Some(0), "{}:{}: {}", document.path.display(), block.line, output.stderr);
        }
    }
}

#[test]
fn a_wrong_example_would_be_found() {
    assert!(
        matches("a…c\n", "abc") && matches("", "") && matches("…", "x") && matches("a\n…\nd", "a\nb\nc\nd\n")
    );
    assert!(!matches("a…d", "abc") && !matches("a", "ab") && !matches("b…", "abc"));
}

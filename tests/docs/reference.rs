//! Checks docs/reference/php.md and docs/reference/coroutines.md against the classes: each public method appears there
//! once, with its signature.
//!
//! A document has a heading per class and, below it, a list item per method that begins with the signature; functions
//! have their own heading.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::markdown::{Document, root};

/// The classes of docs/reference/coroutines.md that are written in PHP.
const COROUTINE_CLASSES: [&str; 5] = ["Scope", "WaitGroup", "Timer", "Process", "Signal"];

/// The classes of docs/reference/pools.md.
const POOL_CLASSES: [&str; 5] =
    ["Pool", "Database/SharedPdo", "Database/PdoPool", "Database/MysqliPool", "Redis/RedisPool"];

/// Further classes of docs/reference/php.md, outside of php/src/Http.
const OTHER_CLASSES: [&str; 21] = [
    "Psr/Handler",
    "Psr/Factories",
    "Octane/Worker",
    "Application",
    "Topic",
    "TopicMessage",
    "WebSocket/Endpoint",
    "WebSocket/Service",
    "WebSocket/Conversation",
    "WebSocket/Socket",
    "WebSocket/Message",
    "WebSocket/Connection",
    "WebSocket/Accept",
    "Tcp/Endpoint",
    "Tcp/Service",
    "Tcp/Conversation",
    "Tcp/Framing",
    "Tcp/Connection",
    "Tcp/Socket",
    "Udp/Service",
    "Udp/Peer",
];

/// The classes of docs/reference/queues.md.
const QUEUE_CLASSES: [&str; 6] = [
    "WriteBehind",
    "Queue/FileQueue",
    "Queue/RedisQueue",
    "Queue/GroupCommit",
    "Queue/Message",
    "Queue/Failure",
];

type Methods = BTreeMap<String, BTreeSet<String>>;

/// Public methods by class, as the source declares them, without @internal ones.
fn declared(path: &str) -> Methods {
    let text = std::fs::read_to_string(root().join(path)).expect("a file of the library");
    let (mut methods, mut class, mut internal) = (Methods::new(), String::new(), false);
    let mut namespace = "";
    let mut lines = text.lines().map(str::trim);
    while let Some(line) = lines.next() {
        internal |= line.contains("@internal");
        let named = line.strip_prefix("final class ").or_else(|| line.strip_prefix("abstract class "));
        if let Some(rest) = named {
            class = format!("{namespace}\\{}", rest.split([' ', '{']).next().unwrap_or_default());
        }
        if let Some(rest) = line.strip_prefix("namespace ") {
            namespace = rest.trim_end_matches(';');
        }
        if line.starts_with("function ") && !std::mem::take(&mut internal) {
            methods.entry("Functions".into()).or_default().insert(normal(line));
        }
        let Some(rest) = line.strip_prefix("public ").or_else(|| line.strip_prefix("abstract public "))
        else {
            // The next private declaration also ends the range of an @internal.
            internal &= !line.starts_with("private ");
            continue;
        };
        let mut signature = rest.to_string();
        // Parameters on separate lines.
        while !signature.contains(')') {
            signature.push_str(lines.next().expect("a signature ends"));
            signature.push(' ');
        }
        if signature.contains("function ") && !internal {
            methods.entry(class.clone()).or_default().insert(normal(&signature));
        }
        internal = false;
    }
    methods
}

/// Normalizes a signature: without "function", bodies, line breaks and trailing commas.
fn normal(signature: &str) -> String {
    let text = signature.replace("function ", "").replace("{}", "");
    let text = text.replace("public readonly ", "").replace("private ", "");
    let text = text.trim().trim_end_matches(['{', ';']).trim();
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    text.replace("( ", "(").replace(", )", ")").replace(",)", ")").replace(" )", ")")
}

fn documented() -> Methods {
    let mut methods = Methods::new();
    let names = ["php", "coroutines", "pools", "queues"];
    for path in names.map(|name| format!("docs/reference/{name}.md")) {
        add_documented(&path, &mut methods);
    }
    methods
}

fn add_documented(path: &str, methods: &mut Methods) {
    let document = Document::read(Path::new(path));
    let mut class = String::new();
    for (line, text) in document.prose() {
        if let Some(heading) = text.strip_prefix("## ") {
            class = heading.trim_matches('`').to_string();
        }
        let Some(item) = text.strip_prefix("- `") else { continue };
        let (signature, rest) = item.split_once('`').expect("a code span is closed");
        assert!(rest.len() > 4, "{path}:{line}: {signature} is not explained");
        let new = methods.entry(class.clone()).or_default().insert(normal(signature));
        assert!(new, "{path}:{line}: {signature} stands there twice");
    }
}

#[test]
fn every_public_method_stands_in_the_reference_with_its_signature() {
    let mut declared_methods = declared("php/stubs/weft.php");
    declared_methods.extend(declared("php/stubs/locks.php"));
    for entry in std::fs::read_dir(root().join("php/src/Http")).expect("the library") {
        let name = entry.expect("an entry can be read").file_name();
        declared_methods.extend(declared(&format!("php/src/Http/{}", name.to_string_lossy())));
    }
    let more = OTHER_CLASSES.iter().chain(&QUEUE_CLASSES);
    for class in COROUTINE_CLASSES.iter().chain(&POOL_CLASSES).chain(more) {
        declared_methods.extend(declared(&format!("php/src/{class}.php")));
    }
    // The method that a SharedPdo inherits from a class of the library that users do not see.
    let inherited = declared("php/src/Database/QuickPdo.php").into_values().flatten();
    declared_methods.entry("Weft\\Database\\SharedPdo".into()).or_default().extend(inherited);
    assert!(declared_methods.values().map(BTreeSet::len).sum::<usize>() > 30, "the classes were not read");
    let documented_methods = documented();
    for (class, methods) in &declared_methods {
        let none = BTreeSet::new();
        let written = documented_methods.get(class).unwrap_or(&none);
        let missing: Vec<_> = methods.difference(written).collect();
        let gone: Vec<_> = written.difference(methods).collect();
        assert!(
            missing.is_empty() && gone.is_empty(),
            "{class}: missing {missing:#?}, not in the code {gone:#?}"
        );
    }
    let classes: Vec<_> =
        documented_methods.keys().filter(|class| !declared_methods.contains_key(*class)).collect();
    assert!(classes.is_empty(), "no such classes: {classes:?}");
}

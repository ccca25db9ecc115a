//! The form of the findings: a table for people, JSON for programs. Both have the same content.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::{Value, json};

use super::finding::{Finding, Findings, Part};
use super::instances::{Fitness, Judged};
use super::thread_local::PerThread;
use crate::php::Support;

/// The width of a terminal at which text is wrapped.
const WIDTH: usize = 100;

const LEGEND: &str = "\
cooperative  the coroutine parks, others run
offloaded    a thread makes the call while the coroutine is parked
blocking     not hooked: the worker stands still if the call waits; why each is acceptable is said below
UNKNOWN      waits by its name, and weft knows nothing about it: it bypasses the hooks
";

/// For people.
pub fn table(findings: &Findings) -> String {
    let mut text = format!("{}; {} extensions\n\n{LEGEND}\n", Support::line(), findings.extensions);
    for object in findings.objects.iter().filter(|object| !object.is_quiet()) {
        entry(&mut text, object);
    }
    let quiet: Vec<&str> = findings
        .objects
        .iter()
        .filter(|object| object.is_quiet())
        .map(|object| object.name.as_str())
        .collect();
    if !quiet.is_empty() {
        text.push_str("without calls that wait\n");
        wrapped(&mut text, "", &quiet);
        text.push('\n');
    }
    reasons(&mut text, findings);
    thread_locals(&mut text, findings);
    instances(&mut text, findings);
    coroutines(&mut text, findings);
    verdict(&mut text, findings);
    text
}

fn entry(text: &mut String, object: &Finding) {
    let users = match object.needed_by.as_slice() {
        [] => String::new(),
        [one, two, three, more @ ..] if !more.is_empty() => {
            format!(" (for {one}, {two}, {three} and {} more)", more.len())
        }
        few => format!(" (for {})", few.join(", ")),
    };
    let threads = if object.threads { ", starts threads" } else { "" };
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{}{users}{threads}", object.name);
    let blocking: Vec<&str> = object.blocking.keys().map(String::as_str).collect();
    let lists: [(&str, Vec<&str>); 4] = [
        ("cooperative", object.cooperative.iter().map(String::as_str).collect()),
        ("offloaded", object.offloaded.iter().map(String::as_str).collect()),
        ("blocking", blocking),
        ("UNKNOWN", object.unknown.iter().map(String::as_str).collect()),
    ];
    for (name, list) in lists.iter().filter(|(_, list)| !list.is_empty()) {
        wrapped(text, name, list);
    }
    text.push('\n');
}

/// A list after its name, on as many lines as it needs.
fn wrapped(text: &mut String, name: &str, list: &[&str]) {
    let mut line = format!("  {name:<13}");
    for (index, item) in list.iter().enumerate() {
        if line.len() + item.len() > WIDTH && index > 0 {
            text.push_str(line.trim_end());
            line = format!("\n  {:<13}", "");
        }
        line.push_str(item);
        line.push(' ');
    }
    text.push_str(line.trim_end());
    text.push('\n');
}

/// Why blocking functions are not hooked, once for all functions with the same reason.
fn reasons(text: &mut String, findings: &Findings) {
    let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, why) in findings.objects.iter().flat_map(|object| &object.blocking) {
        let names = by_reason.entry(why).or_default();
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    if by_reason.is_empty() {
        return;
    }
    text.push_str("blocking, and why\n");
    for (why, names) in by_reason {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  {why}");
        wrapped(text, "", &names);
    }
    text.push('\n');
}

/// What a library keeps for each thread belongs to the whole worker, unless it belongs to each PHP instance.
fn thread_locals(text: &mut String, findings: &Findings) {
    let kept = |object: &Finding| object.per_thread.map(|kept| (object.name.clone(), kept));
    let mut kept: Vec<(String, PerThread)> = findings.objects.iter().filter_map(kept).collect();
    kept.retain(|(_, kept)| *kept != PerThread::OfInstance);
    if kept.is_empty() {
        return;
    }
    text.push_str("state for each thread, which all requests of a worker share\n");
    for (name, kept) in kept {
        match kept {
            PerThread::Shared(why) => wrapped(text, "shared", &[&name, "-", why]),
            _ => wrapped(text, "not reviewed", &[&name]),
        }
    }
    text.push('\n');
}

/// Which extensions may be in PHP instances.
fn instances(text: &mut String, findings: &Findings) {
    text.push_str("in PHP instances (--instances)\n");
    let of = |fitness: Fitness| findings.instances.iter().filter(move |judged| judged.fitness == fitness);
    let proven: Vec<&str> = of(Fitness::Proven).map(|judged| judged.extension.as_str()).collect();
    wrapped(text, Fitness::Proven.name(), &proven);
    for judged in of(Fitness::Unknown).chain(of(Fitness::Unfit)) {
        let extension = [judged.extension.as_str(), "-", &judged.why];
        wrapped(text, judged.fitness.name(), &extension);
    }
    for judged in &findings.instances {
        if let Some(shared) = judged.shared {
            wrapped(text, "shared", &[&judged.extension, "-", shared]);
        }
    }
    if of(Fitness::Unfit).next().is_some() {
        text.push_str(
            "  a worker with an unfit extension runs one request at a time, and says so in its log\n",
        );
    }
    text.push('\n');
}

/// Which extensions coroutine mode cannot isolate.
fn coroutines(text: &mut String, findings: &Findings) {
    let lists = [
        ("unknown form", &findings.unisolated.unknown_layouts),
        ("not reviewed", &findings.unisolated.unreviewed),
    ];
    if lists.iter().all(|(_, list)| list.is_empty()) {
        return;
    }
    text.push_str("in coroutine mode: extensions whose state weft cannot give to each request\n");
    for (name, list) in lists.iter().filter(|(_, list)| !list.is_empty()) {
        wrapped(text, name, &list.iter().map(String::as_str).collect::<Vec<_>>());
    }
    text.push('\n');
}

fn verdict(text: &mut String, findings: &Findings) {
    let unknown = findings.unknown();
    if let Some(why) = &findings.refused {
        text.push_str(why);
        text.push('\n');
    }
    if unknown.is_empty() {
        text.push_str("every function that waits is hooked or reviewed\n");
        return;
    }
    for (name, users) in unknown {
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "{name}() of {} bypasses the hooks: while it waits, its worker stands still",
            users.join(", ")
        );
    }
}

/// For programs.
pub fn json(findings: &Findings) -> String {
    let objects: Vec<Value> = findings.objects.iter().map(object_json).collect();
    let value = json!({
        "php": findings.php,
        "library": weft_zend::loaded::php().file,
        "extensions": findings.extensions,
        "objects": objects,
        "unknown": findings.unknown(),
        "refused": findings.refused,
        "unknown_layouts": findings.unisolated.unknown_layouts,
        "unreviewed": findings.unisolated.unreviewed,
        "instances": findings.instances.iter().map(judged_json).collect::<Vec<_>>(),
    });
    format!("{value:#}\n")
}

fn judged_json(judged: &Judged) -> Value {
    json!({
        "extension": judged.extension,
        "fitness": judged.fitness.name(),
        "why": judged.why,
        "shared": judged.shared,
    })
}

fn object_json(object: &Finding) -> Value {
    json!({
        "name": object.name,
        "path": object.path,
        "part": match object.part {
            Part::Php => "php",
            Part::Extension => "extension",
            Part::Library => "library",
        },
        "needed_by": object.needed_by,
        "cooperative": object.cooperative,
        "offloaded": object.offloaded,
        "blocking": object.blocking,
        "unknown": object.unknown,
        "threads": object.threads,
        "thread_local": object.per_thread.map(|kept| match kept {
            PerThread::OfInstance => json!({"fitness": "of each instance", "why": null}),
            PerThread::Shared(why) => json!({"fitness": "shared", "why": why}),
            PerThread::Unreviewed => json!({"fitness": "not reviewed", "why": null}),
        }),
    })
}

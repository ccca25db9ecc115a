//! The dashboard and the alert rules in `deploy/`: their queries are queries, and ask for what a server says.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use weft_tests::{Server, command, until};

use crate::admin::{metrics, with_admin};

const DASHBOARD: &str = "deploy/grafana/weft.json";
const ALERTS: &str = "deploy/prometheus/alerts.yml";
/// Labels that Prometheus adds.
const OF_PROMETHEUS: [&str; 2] = ["instance", "job"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ is in the repository").to_owned()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The values of all fields of this name.
fn fields<'a>(value: &'a Value, name: &str, found: &mut Vec<&'a str>) {
    match value {
        Value::Array(list) => list.iter().for_each(|value| fields(value, name, found)),
        Value::Object(object) => {
            found.extend(object.get(name).and_then(Value::as_str));
            object.values().for_each(|value| fields(value, name, found));
        }
        _ => (),
    }
}

/// The queries of the dashboard, as Prometheus gets them.
fn queries() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(&read(DASHBOARD)).expect("JSON");
    let mut found = Vec::new();
    fields(&dashboard, "expr", &mut found);
    found.iter().map(|query| query.replace("$__rate_interval", "5m").replace("$instance", ".+")).collect()
}

fn is_of_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// The metrics that a text names, each with the labels that it selects by.
fn named(text: &str) -> Vec<(String, Vec<String>)> {
    let starts = text.match_indices("weft_").filter(|(at, _)| !text[..*at].ends_with(is_of_name));
    starts
        .map(|(at, _)| {
            let length = text[at..].find(|letter| !is_of_name(letter)).unwrap_or(text.len() - at);
            let (name, rest) = text[at..].split_at(length);
            let selected = rest.strip_prefix('{').and_then(|rest| rest.split_once('}'));
            let labels = selected.into_iter().flat_map(|(selected, _)| selected.split(','));
            let label = |one: &str| {
                one.trim().split(|letter| !is_of_name(letter)).next().unwrap_or_default().to_owned()
            };
            (name.to_owned(), labels.map(label).collect())
        })
        .collect()
}

/// What a server says after some requests, with the labels of each metric.
fn said() -> BTreeMap<String, BTreeSet<String>> {
    // What waits in a function of ticks blocks.
    const APPLICATION: &str = "
declare(ticks=1);
return static function ($r): string {
    usleep(1000);
    register_tick_function('usleep', 1000);
    unregister_tick_function('usleep');
    return $r->path() === '/no' ? throw new Error() : 'done';
};";
    let server = Server::new(APPLICATION);
    // A port where nobody listens: the link to other hosts says so.
    let weft = with_admin(server).with("--topics-backplane", "redis://127.0.0.1:1").start();
    // What the first request waited for is counted before its path is a route.
    for (path, status) in [("/", 200), ("/", 200), ("/no", 500)] {
        assert_eq!(weft.get(path).status, status);
    }
    let samples = until("the link to say what it does", || {
        Some(metrics(&weft)).filter(|samples| samples.contains_key("weft_backplane_connected"))
    });
    let mut all: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for sample in samples.keys() {
        let (name, labels) = sample.split_once('{').unwrap_or((sample, ""));
        let labels =
            labels.split(',').filter_map(|label| label.split_once('=')).map(|(label, _)| label.to_owned());
        all.entry(name.to_owned()).or_default().extend(labels);
    }
    all
}

#[test]
fn every_metric_and_label_of_a_query_is_one_that_a_server_has() {
    let said = said();
    let queries = queries();
    assert!(queries.len() > 20, "{queries:?}");
    for text in queries.iter().chain([&read(ALERTS)]) {
        for (name, labels) in named(text) {
            let Some(known) = said.get(&name) else {
                panic!("no server says {name}, which is asked for in {text}")
            };
            for label in labels.iter().filter(|label| !OF_PROMETHEUS.contains(&label.as_str())) {
                assert!(known.contains(label), "{name} has no label {label}, as in {text}");
            }
        }
    }
}

fn promtool(arguments: &[&str], file: &Path) {
    let output = command::finish(Command::new("promtool").args(arguments).arg(file));
    assert_eq!(output.code, Some(0), "{}: {output:?}", file.display());
}

#[test]
fn promtool_takes_the_queries_and_the_rules() {
    let server = Server::new("return fn ($r) => 'done';");
    let rules = server.directory().join("rules.yml");
    let records = queries().into_iter().enumerate().map(|(number, query)| {
        format!("      - record: weft:query{number}\n        expr: {}\n", Value::String(query))
    });
    let text = format!("groups:\n  - name: dashboard\n    rules:\n{}", records.collect::<String>());
    std::fs::write(&rules, text).expect("the directory is ours");
    promtool(&["check", "rules"], &rules);
    promtool(&["check", "rules"], &root().join(ALERTS));
}

#[test]
fn each_alert_fires_where_it_should_and_nowhere_else() {
    promtool(&["test", "rules"], &root().join("tests/lifecycle/alerts.yml"));
}

//! The numbers for Prometheus: its text format 0.0.4, and OpenMetrics 1.0.
//!
//! Must not know where they come from. Invariant: a name has one type and one line of help, whatever the workers do.

use std::fmt::{Display, Write};

use weft_serve::Durations;

use super::insides_metrics;
use super::routes;
use super::snapshot::{Link, Snapshot, Sums, Worker};
use crate::board::Stage;
use crate::trace::Exemplar;
use crate::wait_names::NAMES;

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// <https://prometheus.io/docs/instrumenting/exposition_formats/>
    Prometheus,
    /// <https://github.com/prometheus/OpenMetrics>
    OpenMetrics,
}

impl Format {
    /// Its media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Format::Prometheus => "text/plain; version=0.0.4; charset=utf-8",
            Format::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Writes all of them.
pub fn render(seen: &Snapshot, format: Format) -> String {
    let mut page = Page { text: String::with_capacity(8 << 10), format };
    page.server(seen);
    page.requests(seen);
    if let Some(link) = &seen.link {
        page.link(link);
    }
    page.workers(&seen.workers);
    insides_metrics::samples(seen, &mut page.text, |text, of| head(text, format, of));
    routes::samples(&seen.routes, &mut page.text, |text, of| head(text, format, of));
    if format == Format::OpenMetrics {
        page.text.push_str("# EOF\n");
    }
    page.text
}

/// The head of a family. A counter's name ends in `_total` in its samples; only OpenMetrics has it without in the head.
fn head(text: &mut String, format: Format, (name, kind, help): (&str, &str, &str)) {
    let suffix = if kind == "counter" && format == Format::Prometheus { "_total" } else { "" };
    // A String takes everything.
    let _ = writeln!(text, "# HELP {name}{suffix} {help}\n# TYPE {name}{suffix} {kind}");
}

/// What follows a bucket, of one request in it: its trace, how long it took, and when.
fn trace_of(exemplar: Exemplar) -> String {
    let Exemplar { trace, duration, at_ms } = exemplar;
    format!(" # {{trace_id=\"{trace:032x}\"}} {} {:.3}", duration as f64 / 1e9, at_ms as f64 / 1e3)
}

struct Page {
    text: String,
    format: Format,
}

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        head(&mut self.text, self.format, (name, kind, help));
    }

    fn gauge(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, "gauge", help);
        self.line(format_args!("{name} {value}"));
    }

    fn counter(&mut self, name: &str, help: &str, value: impl Display) {
        self.family(name, "counter", help);
        self.line(format_args!("{name}_total {value}"));
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // A String takes everything.
        let _ = writeln!(self.text, "{line}");
    }

    fn server(&mut self, seen: &Snapshot) {
        self.family("weft_build_info", "gauge", "Version and mode of this server.");
        let version = env!("CARGO_PKG_VERSION");
        self.line(format_args!("weft_build_info{{version=\"{version}\",mode=\"{}\"}} 1", seen.mode));
        let ready = u8::from(seen.is_ready);
        self.gauge("weft_ready", "1 if the server takes requests.", ready);
        self.gauge("weft_start_time_seconds", "When it began, or was reloaded, since 1970.", seen.since);
        self.gauge("weft_generation", "Which code it runs: one more with each reload.", seen.generation);
        self.counter(
            "weft_failed_reloads",
            "Reloads that failed since the last that did not.",
            seen.failed_reloads,
        );
        self.counter("weft_worker_deaths", "Workers that died without being told to end.", seen.deaths);
        self.gauge("weft_workers_wanted", "Workers that there should be.", seen.wanted);
        self.family("weft_workers", "gauge", "Workers by the stage of their lives.");
        for (_, name) in Stage::ALL {
            let count = seen.workers.iter().filter(|worker| worker.stage == name).count();
            self.line(format_args!("weft_workers{{stage=\"{name}\"}} {count}"));
        }
        let held = seen.workers.iter().filter(|worker| worker.is_held).count();
        self.gauge("weft_workers_held", "Workers whose loop one computation holds.", held);
    }

    fn requests(&mut self, seen: &Snapshot) {
        let sums = &seen.sums;
        self.counter("weft_accepted_connections", "Connections accepted.", sums.accepted);
        self.counter(
            "weft_evicted_connections",
            "Idle connections closed to make room for new ones.",
            sums.evicted,
        );
        self.counter(
            "weft_timed_out_connections",
            "Connections that missed a deadline, idle ones included.",
            sums.timed_out,
        );
        self.counter("weft_http2_floods", "HTTP/2 connections ended for flooding.", sums.http2_floods);
        self.counter("weft_requests", "Requests begun.", sums.requests);
        self.counter("weft_refused_requests", "Heads that the server itself refused.", sums.refused);
        self.counter("weft_turned_away_requests", "Requests that found the queue full.", sums.turned_away);
        self.family("weft_answers", "counter", "Answers by class of status.");
        for (class, count) in sums.answers.iter().enumerate() {
            self.line(format_args!("weft_answers_total{{class=\"{}xx\"}} {count}", class + 1));
        }
        self.family(
            "weft_request_duration_seconds",
            "histogram",
            "From the first byte of a request to the moment at which its answer is sent.",
        );
        let mut below = 0;
        let bounds = Durations::BOUNDS.iter().map(|bound| (*bound as f64 / 1e9).to_string());
        for ((bound, count), exemplar) in
            bounds.chain(["+Inf".into()]).zip(sums.durations).zip(seen.exemplars)
        {
            below += count;
            let exemplar =
                exemplar.filter(|_| self.format == Format::OpenMetrics).map(trace_of).unwrap_or_default();
            self.line(format_args!(
                "weft_request_duration_seconds_bucket{{le=\"{bound}\"}} {below}{exemplar}"
            ));
        }
        self.line(format_args!("weft_request_duration_seconds_sum {}", sums.duration_sum as f64 / 1e9));
        self.line(format_args!("weft_request_duration_seconds_count {below}"));
        self.gauge(
            "weft_requests_in_flight",
            "Requests whose answer is not complete.",
            seen.total(|w| w.in_flight),
        );
        self.gauge(
            "weft_requests_queued",
            "Requests that wait for a coroutine or an instance.",
            seen.total(|w| w.queued),
        );
        self.gauge("weft_requests_max", "Requests that can run at once.", seen.total(|w| w.room));
        self.gauge("weft_connections", "Connections.", seen.total(|w| w.connections));
        self.gauge(
            "weft_busy_connections",
            "Connections among them that hold buffers: for a request, or for an answer.",
            seen.total(|w| w.busy_connections),
        );
        self.gauge(
            "weft_websockets",
            "Connections among them that are WebSockets.",
            seen.total(|w| w.websockets),
        );
        self.counter(
            "weft_websocket_received_messages",
            "Messages that WebSocket clients have sent.",
            sums.messages_received,
        );
        self.counter(
            "weft_websocket_dropped_messages",
            "Messages that were lost because WebSocket clients did not keep up.",
            sums.messages_dropped,
        );
        self.counter(
            "weft_topic_delivered_messages",
            "Messages of topics that were queued for subscribers.",
            sums.messages_delivered,
        );
        self.counter("weft_udp_received_datagrams", "Datagrams that have arrived.", sums.datagrams_received);
        self.counter("weft_udp_sent_datagrams", "Datagrams that were sent.", sums.datagrams_sent);
        self.counter(
            "weft_udp_dropped_datagrams",
            "Datagrams that had arrived, or were to be sent, and found no room.",
            sums.datagrams_dropped,
        );
        self.counter(
            "weft_udp_overflowed_datagrams",
            "Datagrams for which the kernel had no room: they came faster than workers took them.",
            sums.datagrams_overflowed,
        );
        self.counter(
            "weft_trace_sent_spans",
            "Spans of traces that the collector has taken.",
            sums.spans_sent,
        );
        self.counter(
            "weft_trace_dropped_spans",
            "Spans of traces that the collector did not take, in time or at all.",
            sums.spans_dropped,
        );
        self.gauge("weft_coroutines", "Coroutines, those of tasks included.", seen.total(|w| w.coroutines));
        self.gauge("weft_tasks", "Tasks.", seen.total(|w| w.tasks));
        self.counter("weft_loop_turns", "Turns of the workers' loops.", sums.turns);
        self.waits(sums);
        self.counter(
            "weft_run_seconds",
            "Time for which coroutines had the loops of their workers.",
            sums.ran as f64 / 1e9,
        );
        self.counter("weft_blocking_calls", "Calls that blocked a whole worker.", sums.blocked);
    }

    fn link(&mut self, link: &Link) {
        let connected = u8::from(link.is_connected);
        self.gauge("weft_backplane_connected", "1 if messages reach other hosts.", connected);
        self.gauge("weft_backplane_hosts", "Other hosts that are there.", link.hosts);
        self.counter("weft_backplane_sent_messages", "Messages passed to other hosts.", link.sent);
        self.counter(
            "weft_backplane_received_messages",
            "Messages that came from other hosts.",
            link.received,
        );
        self.counter(
            "weft_backplane_dropped_messages",
            "Messages that could not be kept until the backplane took them, or that it does not take.",
            link.dropped,
        );
        self.counter(
            "weft_backplane_gaps",
            "Times that messages were missed which the backplane had not kept.",
            link.gaps,
        );
    }

    fn waits(&mut self, sums: &Sums) {
        let each = || NAMES.iter().zip(&sums.waits_of);
        self.family("weft_waits", "counter", "Waits of coroutines that have ended, by what they were for.");
        for ((_, name), waits) in each() {
            self.line(format_args!("weft_waits_total{{kind=\"{name}\"}} {}", waits.ended));
        }
        self.family("weft_wait_seconds", "counter", "How long those took in all.");
        for ((_, name), waits) in each() {
            let seconds = waits.nanos as f64 / 1e9;
            self.line(format_args!("weft_wait_seconds_total{{kind=\"{name}\"}} {seconds}"));
        }
        self.family("weft_waiting", "gauge", "Coroutines that wait, by what for.");
        for ((_, name), waits) in each() {
            self.line(format_args!("weft_waiting{{kind=\"{name}\"}} {}", waits.lasting));
        }
    }

    fn workers(&mut self, workers: &[Worker]) {
        self.family("weft_worker_cpu_seconds", "counter", "CPU time of a worker's process.");
        for (worker, mode, seconds) in
            workers.iter().flat_map(|w| [(w, "user", w.process.user_s), (w, "system", w.process.system_s)])
        {
            let (slot, pid) = (worker.slot, worker.pid);
            self.line(format_args!(
                "weft_worker_cpu_seconds_total{{worker=\"{slot}\",pid=\"{pid}\",mode=\"{mode}\"}} {seconds}"
            ));
        }
        self.each(
            workers,
            "weft_worker_run_queue_seconds",
            "counter",
            "Time for which it could have run, and others did.",
            |w| w.process.run_queue_s,
        );
        self.family(
            "weft_worker_context_switches",
            "counter",
            "Times that a worker's process has left its core.",
        );
        for (worker, kind, count) in workers
            .iter()
            .flat_map(|w| [(w, "voluntary", w.process.switches), (w, "involuntary", w.process.preemptions)])
        {
            let (slot, pid) = (worker.slot, worker.pid);
            self.line(format_args!(
                "weft_worker_context_switches_total{{worker=\"{slot}\",pid=\"{pid}\",kind=\"{kind}\"}} {count}"
            ));
        }
        self.each(workers, "weft_worker_requests", "counter", "Requests begun by it.", |w| w.requests as f64);
        self.each(workers, "weft_worker_memory_bytes", "gauge", "Resident memory.", |w| {
            w.process.memory_bytes as f64
        });
        self.each(
            workers,
            "weft_worker_requests_in_flight",
            "gauge",
            "Requests whose answer is not complete.",
            |w| w.in_flight as f64,
        );
        self.each(workers, "weft_worker_start_time_seconds", "gauge", "When it began, since 1970.", |w| {
            w.since as f64
        });
    }

    fn each(
        &mut self,
        workers: &[Worker],
        name: &str,
        kind: &str,
        help: &str,
        value: impl Fn(&Worker) -> f64,
    ) {
        self.family(name, kind, help);
        let suffix = if kind == "counter" { "_total" } else { "" };
        for worker in workers {
            let (slot, pid, value) = (worker.slot, worker.pid, value(worker));
            self.line(format_args!("{name}{suffix}{{worker=\"{slot}\",pid=\"{pid}\"}} {value}"));
        }
    }
}

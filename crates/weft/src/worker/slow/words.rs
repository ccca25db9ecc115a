//! What the log says of a slow request, in words.
//!
//! Must not know when a request is slow. Invariant: the kinds of waits have the names that they have everywhere.

use weft_rt::{MILLISECOND, Nanos, Record, SECOND, SingleWait, Spent, Standing, Waited};

use crate::wait_names::{NAMES, name_of};

/// The longest wait that has ended, and where the code stood, if that is known.
#[derive(Clone, Copy)]
pub struct Long<'a> {
    pub wait: SingleWait,
    pub place: &'a str,
}

/// What a request does at this moment.
pub fn standing(standing: &Standing) -> String {
    let doing = if standing.could_run { "computes" } else { "waits" };
    let place = match standing.place.as_str() {
        "" => String::new(),
        place => format!(" in {place}"),
    };
    let what = match standing.waits_for.as_slice() {
        _ if standing.could_run => String::new(),
        [] if standing.has_deadline => "; it waits for a time".to_owned(),
        [] => "; it waits for another request or a thread".to_owned(),
        some => format!("; it waits for {}", some.join(", ")),
    };
    format!("{doing}{place}{what}")
}

/// What it has done with its time so far: what has lasted counts as well.
pub fn time(took: Nanos, record: &Record, lasts: Option<SingleWait>, long: Option<Long<'_>>) -> String {
    let mut own = record.own.clone();
    if let Some(lasts) = lasts {
        let waited = &mut own.waited[lasts.kind.place()];
        *waited = Waited { times: waited.times + 1, nanos: waited.nanos + lasts.took };
    }
    let mut text = format!("so far it has run for {}", span(own.ran));
    let waited = own.waited_in_all();
    text.push_str(&match kinds(&own) {
        kinds if kinds.is_empty() => ", and has waited for nothing".to_owned(),
        kinds => format!(", and has waited for {} ({kinds})", span(waited)),
    });
    let turn = took.saturating_sub(own.ran + waited);
    if turn >= MILLISECOND {
        text.push_str(&format!(", and {} for its turn", span(turn)));
    }
    if let Some(Long { wait, place }) = long {
        text.push_str(&format!("; its longest wait took {} ({})", span(wait.took), name_of(wait.kind)));
        if !place.is_empty() {
            text.push_str(&format!(", in {place}"));
        }
    }
    let of_tasks = kinds(&record.tasks);
    if !of_tasks.is_empty() {
        let ran = span(record.tasks.ran);
        text.push_str(&format!("; its tasks have run for {ran}, and their waits are {of_tasks}"));
    }
    text
}

/// The kinds of waits, those that took longest first.
fn kinds(spent: &Spent) -> String {
    let of = |(kind, name): &(weft_rt::WaitKind, &'static str)| (spent.waited[kind.place()], *name);
    let mut some: Vec<_> = NAMES.iter().map(of).filter(|(waited, _)| waited.times > 0).collect();
    some.sort_by_key(|(waited, _)| std::cmp::Reverse(waited.nanos));
    let said = some.into_iter().map(|(Waited { times, nanos }, name)| {
        let waits = if times == 1 { "wait" } else { "waits" };
        format!("{name} {} in {times} {waits}", span(nanos))
    });
    said.collect::<Vec<_>>().join(", ")
}

/// A time with the precision that its reader needs.
fn span(nanos: Nanos) -> String {
    let ms = nanos as f64 / MILLISECOND as f64;
    match nanos {
        0..MILLISECOND => format!("{ms:.2} ms"),
        MILLISECOND..SECOND => format!("{ms:.0} ms"),
        _ => format!("{:.2} s", nanos as f64 / SECOND as f64),
    }
}

#[cfg(test)]
mod tests {
    use weft_rt::WaitKind;

    use super::*;

    #[test]
    fn time_is_told_by_what_it_went_to() {
        let mut record = Record::default();
        assert_eq!(
            time(40_000, &record, None, None),
            "so far it has run for 0.00 ms, and has waited for nothing"
        );
        record.own.ran = 3 * MILLISECOND;
        record.own.waited[WaitKind::Disk.place()] = Waited { times: 1, nanos: 10 * MILLISECOND };
        record.tasks.waited[WaitKind::Service(0).place()] = Waited { times: 7, nanos: 2 * SECOND };
        let wait = |kind, took| SingleWait { number: 1, kind, took };
        let ended = wait(WaitKind::Disk, 10 * MILLISECOND);
        assert_eq!(
            time(
                SECOND,
                &record,
                Some(wait(WaitKind::Coroutine, 957 * MILLISECOND)),
                Some(Long { wait: ended, place: "fgets() at a.php:1" })
            ),
            "so far it has run for 3 ms, and has waited for 967 ms (coroutine 957 ms in 1 wait, disk 10 ms in 1 wait), and 30 ms \
             for its turn; its longest wait took 10 ms (disk), in fgets() at a.php:1; its tasks have run for 0.00 ms, and their \
             waits are mysql 2.00 s in 7 waits"
        );
    }
}

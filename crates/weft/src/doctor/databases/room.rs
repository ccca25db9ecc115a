//! What holds for connections to any server: whether there is room for those of all workers, whether idle ones live, and whether they are
//! encrypted for nothing.
//!
//! Must not know which server it is. Invariant: connections in use are told, but only what can never fit is serious: those in use may
//! be of a server with these settings that runs now.

use super::target::Target;
use crate::doctor::checks::{Advice, Plan, Severity};

/// A bound of connections.
#[derive(Debug, Clone)]
pub struct Room {
    /// The setting's name, for the report.
    pub subject: &'static str,
    /// Connections that clients may have.
    pub max: u64,
    /// Those that there are, without the one that asked.
    pub used: u64,
    /// What the server says about connections that it has refused; empty if nothing.
    pub refused: String,
}

/// Compares it with what the workers open. `fix` and `keep` raise the bound to a number.
pub fn room(target: &Target, room: &Room, plan: &Plan, remedy: impl Fn(u64) -> (String, String)) -> Advice {
    let needed = target.pool.connections(plan);
    let Room { subject, max, used, refused } = room;
    let found = format!("{target} takes {max} connections, {used} are in use{refused}");
    let free = max.saturating_sub(*used);
    if free >= needed {
        return Advice::note(subject, Severity::Fine, found);
    }
    let severity = if *max < needed { Severity::Serious } else { Severity::Warning };
    let excess = if *max < needed {
        "requests beyond get an error, however many are in use by others"
    } else {
        "requests beyond get an error, unless those in use are of this server itself"
    };
    let (raise, keep) = remedy(used + needed + needed / 4);
    let fit = free.max(*max / 2) / plan.workers.max(1);
    let less = match (plan.shares_php, fit) {
        (true, 1..) => format!("; or max: {fit} for the pool (Weft\\Database, Weft\\Redis)"),
        (true, 0) => "; or fewer workers in [server]".to_owned(),
        (false, _) => "; or fewer instances_max in [classic], or workers in [server]".to_owned(),
    };
    let advice =
        Advice::note(subject, severity, found).because(format!("{}: {excess}", target.pool.told(plan)));
    Advice { keep, ..advice.fix(raise + &less) }
}

/// Whether the server ends connections that a pool still wants to keep. `seconds` is `None` or 0 where it ends none.
pub fn idle(
    target: &Target,
    subject: &'static str,
    seconds: Option<u64>,
    plan: &Plan,
    (fix, keep): (&str, &str),
) -> Option<Advice> {
    let seconds = seconds.filter(|seconds| *seconds > 0)?;
    let kept = target.pool.idle_seconds();
    (plan.stays_loaded && seconds <= kept).then(|| {
        let found = format!("{target} closes a connection that was idle for {seconds} s");
        let why = format!(
            "a pool keeps idle ones for {kept} s: it finds them closed and connects again, and code without a pool gets an error"
        );
        let fix = format!("{fix}; or an idleTimeout below {seconds} for the pool");
        let advice = Advice::note(subject, Severity::Warning, found).because(why).fix(fix);
        Advice { keep: keep.to_owned(), ..advice }
    })
}

/// What follows a number of refused connections in a finding.
pub fn refused(count: Option<u64>) -> String {
    match count {
        None | Some(0) => String::new(),
        Some(count) => format!("; since its start it has refused {count}"),
    }
}

/// Encryption between processes of one machine: nobody else can read what they say.
pub fn encrypted(target: &Target, is_encrypted: bool, fix: &str) -> Option<Advice> {
    (is_encrypted && target.is_local()).then(|| {
        Advice::note("TLS", Severity::Note, format!("connections to {target} are encrypted"))
            .because("it is on this machine, where nobody can read them: each new connection costs a handshake, each row a cipher")
            .fix(fix)
    })
}

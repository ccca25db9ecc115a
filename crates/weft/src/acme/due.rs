//! When a certificate is due.
//!
//! Must not know files, or how an authority is asked. Invariants: what the authority wishes goes before our own rule, and a
//! pause after failures before both; a wish leaves time for an order that fails.

use super::state::{State, Wish};

/// Certificates that live longer are renewed when a third of their life is left; shorter ones when half of it is.
const LONG_LIFE_S: u64 = 10 * 86_400;
/// This part of a certificate's life, the last, is for orders that fail, whatever the authority wishes.
const LAST_PART: u64 = 6;
/// When to look again at the latest, because other hosts and the clock change things.
const LOOK_AGAIN_S: u64 = 12 * 3600;
/// How long to wait for an answer about renewal, after an authority that gave none.
pub const ASK_AGAIN_S: u64 = 6 * 3600;

/// The life of a certificate, in seconds since 1970, and what its authority calls it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Life {
    /// From when on it is valid.
    pub begin: u64,
    /// Until when.
    pub end: u64,
    /// Its identifier (RFC 9773 section 4.1); empty if it has none.
    pub id: String,
}

/// What follows for a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// It is to be certified now.
    Now,
    /// There is nothing to do until then.
    At(u64),
}

/// Whether a name is due: its certificate, if it has a usable one, and what is remembered of it.
pub fn due(state: &State, life: Option<&Life>, now: u64) -> Due {
    let at = life.map_or(0, |life| renewal_time(state, life));
    match at.max(state.not_before) {
        at if at <= now => Due::Now,
        at => Due::At(at.min(now + LOOK_AGAIN_S)),
    }
}

/// When a certificate is renewed if nothing fails.
fn renewal_time(state: &State, life: &Life) -> u64 {
    let span = life.end.saturating_sub(life.begin);
    let left = if span > LONG_LIFE_S { span / 3 } else { span / 2 };
    let own = life.end.saturating_sub(left);
    let latest = life.end.saturating_sub(span / LAST_PART);
    wish_for(state, life).map_or(own, |wish| wish.at.min(latest))
}

fn wish_for<'s>(state: &'s State, life: &Life) -> Option<&'s Wish> {
    state.wish.as_ref().filter(|wish| wish.certificate == life.id && !life.id.is_empty() && wish.at > 0)
}

/// Whether the authority is to be asked when it wants the certificate renewed.
pub fn asks(state: &State, life: &Life, now: u64) -> bool {
    let known = state.wish.as_ref().filter(|wish| wish.certificate == life.id);
    !life.id.is_empty() && known.is_none_or(|wish| wish.ask_again <= now)
}

/// What an answer about renewal comes to: a time in the window (RFC 9773 section 4.2). `chance` is between 0 and 1. The
/// time that was drawn before is kept while it lies in the window.
pub fn wish(before: Option<&Wish>, id: &str, (start, end): (u64, u64), ask_again: u64, chance: f64) -> Wish {
    let drawn = before.filter(|wish| wish.certificate == id && (start..=end).contains(&wish.at));
    let span = end.saturating_sub(start);
    let at = drawn.map_or(start + (span as f64 * chance) as u64, |wish| wish.at);
    Wish { certificate: id.to_owned(), start, end, at, ask_again }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: u64 = 86_400;

    fn life(days: u64) -> Life {
        Life { begin: 1000 * DAY, end: (1000 + days) * DAY, id: "a.1".into() }
    }

    #[test]
    fn the_last_third_or_half_of_a_life_is_for_renewal() {
        let at = |days: u64, day: u64| due(&State::default(), Some(&life(days)), (1000 + day) * DAY);
        assert_eq!((at(90, 59), at(90, 60)), (Due::At((1000 + 59) * DAY + LOOK_AGAIN_S), Due::Now));
        assert_eq!((at(6, 2), at(6, 3)), (Due::At((1000 + 2) * DAY + LOOK_AGAIN_S), Due::Now));
        assert_eq!(due(&State::default(), None, 5), Due::Now);
    }

    #[test]
    fn a_pause_goes_before_everything() {
        let state = State { not_before: 100, ..State::default() };
        assert_eq!((due(&state, None, 99), due(&state, None, 100)), (Due::At(100), Due::Now));
    }

    #[test]
    fn the_authority_says_when_and_about_which() {
        let wished = wish(None, "a.1", (1010 * DAY, 1020 * DAY), 1000 * DAY, 0.5);
        assert_eq!(wished.at, 1015 * DAY);
        let state = State { wish: Some(wished.clone()), ..State::default() };
        assert_eq!(due(&state, Some(&life(90)), 1015 * DAY), Due::Now);
        assert!(matches!(due(&state, Some(&life(90)), 1014 * DAY), Due::At(_)));
        let other = Life { id: "a.2".into(), ..life(90) };
        assert!(
            matches!(due(&state, Some(&other), 1015 * DAY), Due::At(_)),
            "it was about another certificate"
        );
        assert!(
            asks(&state, &other, 0)
                && !asks(&state, &life(90), 999 * DAY)
                && asks(&state, &life(90), 1000 * DAY)
        );
        let late = State { wish: Some(Wish { at: 1089 * DAY, ..wished.clone() }), ..State::default() };
        assert_eq!(due(&late, Some(&life(90)), 1075 * DAY), Due::Now, "no later than that");
        let kept = wish(Some(&wished), "a.1", (1001 * DAY, 1016 * DAY), 0, 0.0);
        assert_eq!(kept.at, 1015 * DAY, "a time is drawn once");
        assert_eq!(wish(Some(&wished), "a.1", (1001 * DAY, 1002 * DAY), 0, 0.0).at, 1001 * DAY);
    }
}

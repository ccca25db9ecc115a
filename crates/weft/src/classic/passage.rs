//! The way of a request through the rules of `[[rule]]`.
//!
//! Must not know connections. Invariant: a path that was rewritten passes the rules again, and so does the name of what
//! answers, so that no way leads past a rule that keeps clients away.

use std::rc::Rc;

use weft_serve::Fields;

use super::docroot::Docroot;
use super::password::Tried;
use super::path::Wanted;
use super::route::{Answer, Route};
use super::rules::{Asked, Credentials, Rules};
use crate::config::Action;

/// A request on its way through the rules.
#[derive(Default)]
struct Passage {
    fields: Option<Fields>,
    user: Option<Vec<u8>>,
    query: Option<Vec<u8>>,
    rewritten: bool,
    /// Rules whose password the request has.
    passed: Vec<usize>,
    /// Rules that had a say, for a description.
    fitted: Vec<usize>,
}

enum Outcome {
    Through,
    Ends(Route),
    Rewritten(Wanted),
}

impl Passage {
    /// Asks those that keep clients away about the name of what answers.
    fn guard(&mut self, rules: &Rules, name: &[u8], asked: &Asked<'_>) -> Option<Route> {
        let mut wants_password = true;
        for (index, rule) in rules.list.iter().enumerate() {
            if rule.missing || !rule.condition.fits(name) {
                continue;
            }
            match &rule.action {
                Action::Allow => return None,
                Action::Deny(status) => {
                    self.fitted.push(index);
                    return Some(Route::Refused(*status));
                }
                Action::Auth { .. } if std::mem::take(&mut wants_password) => {
                    if let Some(route) = self.ask(rules, index, asked) {
                        return Some(route);
                    }
                }
                _ => (),
            }
        }
        None
    }

    /// Asks for the password of a rule, unless the request has passed it.
    fn ask(&mut self, rules: &Rules, index: usize, asked: &Asked<'_>) -> Option<Route> {
        let Action::Auth { realm, users, .. } = &rules.list[index].action else { return None };
        if self.passed.contains(&index) {
            return None;
        }
        self.passed.push(index);
        self.fitted.push(index);
        let Credentials::Sent(field) = asked.credentials else { return None };
        match rules.passwords.try_field(users, field) {
            Tried::Right(user) => {
                self.user = Some(user);
                None
            }
            Tried::Wrong => Some(Route::Challenge(realm.clone())),
            Tried::Later => Some(Route::Refused(503)),
        }
    }

    fn add(&mut self, rules: &Rules, index: usize) {
        let Some(more) = &rules.fields[index] else { return };
        self.fields = Some(match self.fields.take() {
            None => Rc::clone(more),
            Some(fields) => {
                let is_new = |(name, _): &&(Vec<u8>, Vec<u8>)| {
                    !fields.iter().any(|(known, _)| known.eq_ignore_ascii_case(name))
                };
                fields.iter().chain(more.iter().filter(is_new)).cloned().collect()
            }
        });
    }
}

impl Docroot {
    /// What answers a path under the rules.
    pub(super) fn ruled(&self, rules: &Rules, wanted: Wanted, asked: &Asked<'_>) -> Answer {
        self.ruled_and_why(rules, wanted, asked).0
    }

    /// The same, with a line for each rule that had a say.
    pub fn ruled_and_why(&self, rules: &Rules, wanted: Wanted, asked: &Asked<'_>) -> (Answer, Vec<String>) {
        let mut passage = Passage::default();
        let route = self.passed(rules, &mut passage, wanted, asked);
        let why = rules.describe(&passage.fitted);
        (Answer { route, fields: passage.fields }, why)
    }

    fn passed(&self, rules: &Rules, passage: &mut Passage, mut wanted: Wanted, asked: &Asked<'_>) -> Route {
        loop {
            match self.along(rules, passage, &wanted, asked) {
                Outcome::Ends(route) => return route,
                Outcome::Rewritten(to) => wanted = to,
                Outcome::Through => break,
            }
        }
        let mut route = self.unless_denied(self.resolve(&wanted, asked.method));
        if let Some(name) = self.public_name(&route)
            && name != wanted.as_asked()
            && let Some(kept_away) = passage.guard(rules, &name, asked)
        {
            return kept_away;
        }
        if let Route::Script(script) = &mut route {
            script.query = passage.query.take();
            script.user = passage.user.take();
        }
        route
    }

    /// Asks the rules in their order.
    fn along(&self, rules: &Rules, passage: &mut Passage, wanted: &Wanted, asked: &Asked<'_>) -> Outcome {
        let path = wanted.as_asked();
        let (mut allowed, mut wants_password) = (false, true);
        for (index, rule) in rules.list.iter().enumerate() {
            if !rule.condition.fits(&path) || rule.missing && !self.is_missing(wanted) {
                continue;
            }
            let ends = match &rule.action {
                Action::Allow => {
                    allowed = true;
                    None
                }
                Action::Deny(_) | Action::Auth { .. } if allowed => continue,
                Action::Deny(status) => Some(Route::Refused(*status)),
                Action::Auth { .. } if !std::mem::take(&mut wants_password) => continue,
                Action::Auth { .. } => match passage.ask(rules, index, asked) {
                    Some(route) => return Outcome::Ends(route),
                    None => continue,
                },
                Action::Header(_) => {
                    passage.add(rules, index);
                    None
                }
                Action::Redirect(to, status) => {
                    let groups = rule.condition.groups(&path).unwrap_or_default();
                    Some(Route::Moved(*status, to.location(&groups, asked.query)))
                }
                Action::Rewrite(_) if passage.rewritten => continue,
                Action::Rewrite(to) => {
                    passage.fitted.push(index);
                    let groups = rule.condition.groups(&path).unwrap_or_default();
                    let (path, query) = to.rewritten(&groups, asked.query);
                    passage.rewritten = true;
                    passage.query = Some(query.unwrap_or_default());
                    return match Wanted::normal(&path) {
                        Ok(wanted) => Outcome::Rewritten(wanted),
                        Err(status) => Outcome::Ends(Route::Refused(status)),
                    };
                }
                Action::Alias(_) | Action::BodyBytesMax(_) => None,
            };
            passage.fitted.push(index);
            if let Some(route) = ends {
                return Outcome::Ends(route);
            }
        }
        Outcome::Through
    }
}

//! The way of a request through the rules of `[[rule]]`.
//!
//! Must not know connections. Invariant: a path that was rewritten passes the rules again, and so does the name of what
//! answers, so that no way leads past a rule that keeps clients away.

use std::ops::ControlFlow;
use std::rc::Rc;

use weft_serve::Fields;

use super::docroot::Docroot;
use super::names::with_other_suffixes;
use super::password::Tried;
use super::path::Wanted;
use super::route::{Answer, Route};
use super::rules::{Asked, Credentials, Rules};
use crate::config::{Action, Rule};

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

    /// What rules and files say about a path beside an application, which gets those without an answer; the fields that
    /// rules add, and a line for each rule that had a say.
    pub fn ruled_beside(
        &self,
        rules: &Rules,
        wanted: Wanted,
        asked: &Asked<'_>,
    ) -> (Option<Route>, Option<Fields>, Vec<String>) {
        let mut passage = Passage::default();
        let route = match self.through(rules, &mut passage, wanted, asked) {
            ControlFlow::Break(route) => Some(route),
            ControlFlow::Continue(wanted) => self
                .file_at(&wanted, asked.method)
                .map(|route| self.unless_guarded(rules, &mut passage, (&wanted, route), asked)),
        };
        let why = rules.describe(&passage.fitted);
        (route, passage.fields, why)
    }

    /// The path with which a request comes out of the rules; `Break` if one of them ends it.
    fn through(
        &self,
        rules: &Rules,
        passage: &mut Passage,
        mut wanted: Wanted,
        asked: &Asked<'_>,
    ) -> ControlFlow<Route, Wanted> {
        loop {
            match self.along(rules, passage, &wanted, asked) {
                Outcome::Ends(route) => return ControlFlow::Break(route),
                Outcome::Rewritten(to) => wanted = to,
                Outcome::Through => return ControlFlow::Continue(wanted),
            }
        }
    }

    /// What answers, unless rules keep clients away from its name.
    fn unless_guarded(
        &self,
        rules: &Rules,
        passage: &mut Passage,
        (wanted, route): (&Wanted, Route),
        asked: &Asked<'_>,
    ) -> Route {
        let name = self.public_name(&route).filter(|name| *name != wanted.as_asked());
        name.and_then(|name| passage.guard(rules, &name, asked)).unwrap_or(route)
    }

    fn passed(&self, rules: &Rules, passage: &mut Passage, wanted: Wanted, asked: &Asked<'_>) -> Route {
        let wanted = match self.through(rules, passage, wanted, asked) {
            ControlFlow::Continue(wanted) => wanted,
            ControlFlow::Break(route) => return route,
        };
        let route = self.unless_denied(self.resolve(&wanted, asked.method));
        let mut route = self.unless_guarded(rules, passage, (&wanted, route), asked);
        if let Route::Script(script) = &mut route {
            script.query = passage.query.take();
            script.user = passage.user.take();
        }
        route
    }

    /// Whether a rule for what is missing has a say. As with nginx, where a location of its own has all scripts, one that
    /// is missing is 404: only a rule that is for scripts alone leads it elsewhere.
    fn lacks(&self, wanted: &Wanted, path: &[u8], rule: &Rule) -> bool {
        let leads_elsewhere = matches!(rule.action, Action::Redirect(..) | Action::Rewrite(_));
        let is_for_more = || with_other_suffixes(path).is_some_and(|other| rule.condition.fits(&other));
        self.is_missing(wanted) && (!leads_elsewhere || self.resident.is_some() || !is_for_more())
    }

    /// Asks the rules in their order.
    fn along(&self, rules: &Rules, passage: &mut Passage, wanted: &Wanted, asked: &Asked<'_>) -> Outcome {
        let path = wanted.as_asked();
        let (mut allowed, mut wants_password) = (false, true);
        for (index, rule) in rules.list.iter().enumerate() {
            if !rule.condition.fits(&path) || rule.missing && !self.lacks(wanted, &path, rule) {
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

//! Where a request waits for its share: before it gets a coroutine, an instance or a place in the scheduler's queue.
//!
//! Must not know how a request is run. Invariants: what has passed the gate gives its places back, once, when its job has
//! ended or will not run here; what waits may leave with its connection, like a job in the scheduler's queue, and is
//! answered when it has waited too long.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use weft_rt::{Job, MILLISECOND, Nanos, Runtime};
use weft_serve::{RequestKey, RequestView, Server};
use weft_zend::JobKind;

use super::facts::{Facts, Scratch};
use super::job::request_of;
use super::server_host::ServerHost;
use crate::config::{Config, Mode, Share, ShareBy, Site, is_below, plain_path, pools};
use crate::shares::{Arrival, Key, Shares};

/// The shares of this worker.
pub struct Gate {
    server: &'static Server,
    host: &'static ServerHost,
    /// Those for all requests, then those of each site.
    rules: Vec<ShareBy>,
    common: usize,
    /// Which of the rules are a site's, by its number.
    sites: Vec<Range<usize>>,
    /// The rule, behind all others, that counts the instances of its pool; of a site, by its number.
    instances: Vec<usize>,
    shares: RefCell<Shares<RequestKey>>,
    scratch: RefCell<Scratch>,
    /// When those that have gone were last looked for.
    swept: Cell<Nanos>,
}

thread_local! {
    static GATE: Cell<Option<&'static Gate>> = const { Cell::new(None) };
}

/// The gate of this worker, if its configuration has shares.
pub fn gate() -> Option<&'static Gate> {
    GATE.get()
}

impl Gate {
    /// Whether there are shares, or sites with instances of their own.
    pub fn is_wanted(config: &Config) -> bool {
        all(config).next().is_some() || config.has_site_applications()
    }

    /// Makes the gate of this worker, if one is wanted.
    pub fn install(runtime: &Runtime, server: &'static Server, host: &'static ServerHost, config: &Config) {
        if !Gate::is_wanted(config) {
            return;
        }
        let limits = &config.limits;
        let mut running_max: Vec<usize> = all(config).map(|share| share.running_max).collect();
        let instances = count_instances(config, &mut running_max);
        let mut end = limits.shares.len();
        let of_site = |length: usize| {
            end += length;
            end - length..end
        };
        let sites = config.sites.iter().map(|site| site.config.limits.shares.len()).map(of_site).collect();
        let wait_max = limits.queue_timeout_ms.saturating_mul(MILLISECOND);
        let made = Gate {
            server,
            host,
            rules: all(config).map(|share| share.by.clone()).collect(),
            common: limits.shares.len(),
            sites,
            instances,
            shares: RefCell::new(Shares::new(running_max, limits.queue_max, wait_max)),
            scratch: RefCell::default(),
            swept: Cell::new(0),
        };
        GATE.set(Some(Box::leak(Box::new(made))));
        runtime.on_ended(|job| {
            if let Some(gate) = gate() {
                gate.ended(job);
            }
        });
    }

    /// A request is to begin.
    pub fn pass(&self, key: RequestKey, now: Nanos) -> Arrival<RequestKey> {
        let arrive = || {
            let keys = self.server.with_request(key, |request| self.keys(key, request));
            self.shares.borrow_mut().arrive(key, keys.unwrap_or_default(), now)
        };
        let arrival = arrive();
        if arrival == Arrival::Refused && self.sweep(now) { arrive() } else { arrival }
    }

    /// A script that stays loaded is to boot, without a request, where nothing else runs.
    pub fn boots(&self, job: Job, now: Nanos) {
        let (Some(name), Some(site)) = (name_of(job), pools::site_of(job.pool)) else { return };
        let key = self.instances.get(site).map(|rule| (*rule, Rc::from(&b""[..])));
        self.shares.borrow_mut().arrive(name, key.into_iter().collect(), now);
    }

    /// A job has ended, or will not begin here.
    pub fn ended(&self, job: Job) {
        if let Some(name) = name_of(job) {
            self.shares.borrow_mut().ended(name);
        }
    }

    /// Requests that wait for their share.
    pub fn waiting(&self) -> usize {
        self.shares.borrow().waiting().len()
    }

    /// When there is something to do for those that wait.
    pub fn deadline(&self) -> Option<Nanos> {
        self.shares.borrow().deadline()
    }

    /// How many times [`Gate::take_due`] has a request.
    pub fn due(&self) -> usize {
        self.shares.borrow().due()
    }

    /// A request that has waited and has its places now.
    pub fn take_due(&self) -> Option<Job> {
        self.shares.borrow_mut().take_due().map(|key| self.host.job_of(key.0))
    }

    /// A request that has waited too long, and that the gate has forgotten.
    pub fn expired(&self, now: Nanos) -> Option<Job> {
        self.shares.borrow_mut().expired(now).map(|key| self.host.job_of(key.0))
    }

    /// All that wait; they MUST be answered.
    pub fn all_waiting(&self) -> Vec<Job> {
        self.shares.borrow().waiting().map(|key| self.host.job_of(key.0)).collect()
    }

    /// Forgets those whose clients have gone, at most once in a turn of the loop; returns whether there were any.
    fn sweep(&self, now: Nanos) -> bool {
        if self.swept.replace(now) == now {
            return false;
        }
        let mut gone: Vec<RequestKey> = self.shares.borrow().waiting().collect();
        gone.retain(|key| !self.server.is_open(*key));
        for key in &gone {
            self.host.forget_script(key.0);
            self.shares.borrow_mut().ended(*key);
        }
        !gone.is_empty()
    }

    fn keys(&self, key: RequestKey, request: &RequestView<'_>) -> Vec<Key> {
        let mut path = None;
        let mut of_rule = |rule: &ShareBy| -> Option<Rc<[u8]>> {
            match rule {
                ShareBy::Path(above) => {
                    let path = path.get_or_insert_with(|| plain_path(request.path()));
                    let is_script = || {
                        JobKind::Classic.is_of(self.host.job_of(key.0))
                            && self.host.runs_script(key.0, |name| is_below(name, above))
                    };
                    (is_below(path, above) || is_script()).then(|| Rc::from(&b""[..]))
                }
                ShareBy::Header(name) => request.header(name).map(Rc::from),
                ShareBy::Address => {
                    let mut scratch = self.scratch.borrow_mut();
                    self.host.client(&Facts::of(request), &mut scratch);
                    (!scratch.is_empty()).then(|| Rc::from(&scratch[..]))
                }
            }
        };
        let site = self.host.site_of(key.0);
        let own = site.and_then(|site| self.sites.get(site));
        let rules = (0..self.common).chain(own.cloned().unwrap_or_default());
        let keys = rules.map(|rule| (rule, self.rules.get(rule).and_then(&mut of_rule)));
        let instances = site.and_then(|site| self.instances.get(site));
        let instances = instances.map(|rule| (*rule, Rc::from(&b""[..])));
        keys.filter_map(|(rule, value)| Some((rule, value?))).chain(instances).collect()
    }
}

/// What the shares call a job: a request by its key; the boot of a script by its pool, as no key is.
fn name_of(job: Job) -> Option<RequestKey> {
    let boots = JobKind::Resident.is_of(job) && job.pool != pools::COMMON;
    request_of(job).or_else(|| boots.then(|| RequestKey(u64::MAX - u64::from(job.pool))))
}

/// Where sites have instances of their own: adds how many requests run in those of each pool, and tells which of these
/// bounds holds for a site.
fn count_instances(config: &Config, running_max: &mut Vec<usize>) -> Vec<usize> {
    if !config.has_site_applications() {
        return Vec::new();
    }
    let of_roots = running_max.len();
    running_max.push(Mode::Classic.instances_of_one(config) as usize);
    let bound = |site: &Site| match site.instances_max() {
        0 => of_roots,
        own => {
            running_max.push(own as usize);
            running_max.len() - 1
        }
    };
    config.sites.iter().map(bound).collect()
}

/// The shares of all requests, then those of each site.
fn all(config: &Config) -> impl Iterator<Item = &Share> {
    config.limits.shares.iter().chain(config.sites.iter().flat_map(|site| &site.config.limits.shares))
}

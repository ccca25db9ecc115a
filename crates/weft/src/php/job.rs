//! What a job of this worker is for.
//!
//! Must not know how it is run. Invariant: the argument of a job is a request's key only where this says so.

use weft_rt::Job;
use weft_serve::RequestKey;
use weft_zend::JobKind;

/// The request that a job answers; `None` for tasks, events and the boot of a script.
pub fn request_of(job: Job) -> Option<RequestKey> {
    let is_none = JobKind::Task.is_of(job) || JobKind::Event.is_of(job) || job.argument == 0;
    (!is_none).then_some(RequestKey(job.argument))
}

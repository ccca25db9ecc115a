//! PHP's questions about topics: their rows in the table of C symbols.
//!
//! As in [`crate::host`]: called from C on the engine's thread; nothing here calls Zend. Publishing may park the calling
//! coroutine.
#![allow(unsafe_code)]

use crate::abi::{EventsBegun, OverflowPolicy, TopicAnswered, TopicPublished, TopicSubscribed};
use crate::host::with;
use crate::slice::Slice;
use crate::topics::{EventStream, Publish, Subscribe};

// SAFETY of all rows: called by c/ only, with the arguments its prototypes in topic.h promise.

/// What C passes to [`weft_host_topic_publish`].
#[repr(C)]
pub(crate) struct Publication {
    topic: Slice,
    message: Slice,
    except: Slice,
    key: Slice,
    is_binary: bool,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_topic_publish(publication: *const Publication, said: *mut Slice) -> u32 {
    // SAFETY: C passes a struct of its own, whose slices stay valid during the call, parked or not.
    let (publish, said) = unsafe {
        let publication = &*publication;
        let publish = Publish {
            topic: publication.topic.get(),
            message: publication.message.get(),
            is_binary: publication.is_binary,
            except: publication.except.is_some().then(|| publication.except.get()),
            key: publication.key.get(),
        };
        (publish, &mut *said)
    };
    let nowhere = (TopicPublished::NoServer, Slice::NONE);
    let (published, lent) =
        with(None, |host| host.topics()).map_or(nowhere, |topics| topics.publish(&publish));
    *said = lent;
    published as u32
}

/// What C passes to [`weft_host_topic_subscribe`].
#[repr(C)]
pub(crate) struct Subscription {
    connection: Slice,
    topic: Slice,
    after: Slice,
    recent: u32,
    is_labelled: bool,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_topic_subscribe(subscription: *const Subscription) -> u32 {
    // SAFETY: C passes a struct of its own, whose slices stay valid during the call, parked or not.
    let subscribe = unsafe {
        let subscription = &*subscription;
        Subscribe {
            connection: subscription.connection.get(),
            topic: subscription.topic.get(),
            is_labelled: subscription.is_labelled,
            after: subscription.after.is_some().then(|| subscription.after.get()),
            recent: subscription.recent as usize,
        }
    };
    let subscribed =
        with(None, |host| host.topics()).map_or(TopicSubscribed::Gone, |topics| topics.subscribe(&subscribe));
    subscribed as u32
}

/// What C passes to [`weft_host_topic_stream`].
#[repr(C)]
pub(crate) struct Bound {
    topics: *const Slice,
    names: *const Slice,
    count: usize,
    after: Slice,
    recent: u32,
    is_labelled: bool,
    overflow: u32,
    heartbeat_ms: u32,
    retry_ms: u32,
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_topic_stream(request: u64, bound: *const Bound) -> u32 {
    // SAFETY: C passes a struct of its own, with two arrays of slices that are valid during the call.
    let (bound, topics, names) = unsafe {
        let bound = &*bound;
        let topics = std::slice::from_raw_parts(bound.topics, bound.count);
        let names = std::slice::from_raw_parts(bound.names, bound.count);
        let name = |name: &Slice| name.is_some().then(|| name.get());
        let topics = topics.iter().map(|topic| topic.get()).collect::<Vec<&[u8]>>();
        (bound, topics, names.iter().map(name).collect::<Vec<Option<&[u8]>>>())
    };
    let stream = EventStream {
        topics: &topics,
        names: &names,
        // SAFETY: the same.
        after: bound.after.is_some().then(|| unsafe { bound.after.get() }),
        recent: bound.recent as usize,
        is_labelled: bound.is_labelled,
        overflow: OverflowPolicy::from_c(bound.overflow).unwrap_or(OverflowPolicy::Close),
        heartbeat_ms: bound.heartbeat_ms,
        retry_ms: bound.retry_ms,
    };
    with(None, |host| host.topics()).map_or(EventsBegun::Gone, |topics| topics.stream(request, &stream))
        as u32
}

#[unsafe(no_mangle)]
extern "C" fn weft_host_topic_position() -> Slice {
    with(None, |host| host.topics()).map_or(Slice::NONE, |topics| topics.position())
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_topic_unsubscribe(connection: Slice, topic: Slice) -> bool {
    // SAFETY: valid during the call.
    let (connection, topic) = unsafe { (connection.get(), topic.get()) };
    with(None, |host| host.topics()).is_some_and(|topics| topics.unsubscribe(connection, topic))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_topic_list(connection: Slice) -> Slice {
    // SAFETY: valid during the call.
    let connection = unsafe { connection.get() };
    with(None, |host| host.topics()).map_or(Slice::NONE, |topics| topics.list(connection))
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_topic_ask(what: u32, subject: Slice, rows: *mut Slice) -> u32 {
    // SAFETY: valid during the call, parked or not; C passes the address of a slice of its own.
    let (subject, rows) = unsafe { (subject.get(), &mut *rows) };
    let Some(topics) = with(None, |host| host.topics()) else { return TopicAnswered::NoServer as u32 };
    let answer = topics.ask(what, subject);
    *rows = answer.unwrap_or(Slice::NONE);
    (if answer.is_some() { TopicAnswered::Yes } else { TopicAnswered::Late }) as u32
}

#[unsafe(no_mangle)]
unsafe extern "C" fn weft_host_topic_attend(connection: Slice, topic: Slice, name: Slice) -> u32 {
    // SAFETY: valid during the call.
    let (connection, topic, name) = unsafe { (connection.get(), topic.get(), name.get()) };
    let attends = with(None, |host| host.topics())
        .map_or(TopicSubscribed::Gone, |topics| topics.attend(connection, topic, name));
    attends as u32
}

//! The streams of all connections, and the keys that name their requests.
//!
//! A stream has a slot of its own, apart from its connection's: how many streams a connection has at a time is its
//! protocol's business. Invariant: a key names one request of one stream. Once that request has been answered, or its
//! slot has another one, the key finds nothing; it never finds another request.

use crate::keys::RequestKey;
use crate::stream::Stream;

/// Streams kept, with their buffers, for the next requests.
const KEPT_MAX: usize = 128;

/// A place for one stream at a time.
enum StreamSlot {
    /// With the key of its present request, or its last one.
    Kept(Box<Stream>),
    /// A vacant one that kept no buffers, only the key of its last request.
    Bare(RequestKey),
}

/// All slots; they grow to the largest number of streams at one time.
#[derive(Default)]
pub(crate) struct Streams {
    slots: Vec<StreamSlot>,
    /// Vacant slots that kept their stream, the last used last.
    kept: Vec<u32>,
    /// Those that did not.
    bare: Vec<u32>,
}

impl Streams {
    /// Lends a stream to the connection in the slot of this number.
    pub(crate) fn take(&mut self, connection: u32) -> u32 {
        let index = self.kept.pop().or_else(|| self.bare.pop()).unwrap_or_else(|| {
            let index = self.slots.len() as u32;
            self.slots.push(StreamSlot::Bare(RequestKey::new(index, 0)));
            index
        });
        let slot = &mut self.slots[index as usize];
        match slot {
            StreamSlot::Kept(stream) => stream.connection = connection,
            StreamSlot::Bare(last) => *slot = StreamSlot::Kept(Box::new(Stream::new(*last, connection))),
        }
        index
    }

    /// Takes back a stream that has seen no byte of a request, or has forgotten it.
    pub(crate) fn give(&mut self, index: u32) {
        let Some(slot) = self.slots.get_mut(index as usize) else { return };
        let StreamSlot::Kept(stream) = slot else { return };
        if self.kept.len() < KEPT_MAX {
            stream.shrink();
            self.kept.push(index);
        } else {
            *slot = StreamSlot::Bare(stream.key);
            self.bare.push(index);
        }
    }

    /// The stream in this slot.
    pub(crate) fn get_mut(&mut self, index: u32) -> Option<&mut Stream> {
        match self.slots.get_mut(index as usize)? {
            StreamSlot::Kept(stream) => Some(stream),
            StreamSlot::Bare(_) => None,
        }
    }

    /// [`Streams::get_mut`] for reading.
    pub(crate) fn get(&self, index: u32) -> Option<&Stream> {
        match self.slots.get(index as usize)? {
            StreamSlot::Kept(stream) => Some(stream),
            StreamSlot::Bare(_) => None,
        }
    }

    /// The stream of `key`'s request, while its response has not ended.
    pub(crate) fn open(&mut self, key: RequestKey) -> Option<&mut Stream> {
        self.get_mut(key.index()).filter(|stream| stream.key == key && stream.open)
    }

    /// [`Streams::open`] for reading.
    pub(crate) fn open_ref(&self, key: RequestKey) -> Option<&Stream> {
        self.get(key.index()).filter(|stream| stream.key == key && stream.open)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(streams: &mut Streams, index: u32) -> RequestKey {
        let stream = streams.get_mut(index).unwrap();
        (stream.key, stream.open) = (stream.key.next(), true);
        stream.key
    }

    #[test]
    fn a_key_finds_its_request_and_no_later_one() {
        let mut streams = Streams::default();
        let index = streams.take(7);
        let first = begin(&mut streams, index);
        assert_eq!(streams.open(first).unwrap().connection, 7);
        let second = begin(&mut streams, index);
        assert!(streams.open(first).is_none() && streams.open_ref(second).is_some());
        streams.get_mut(index).unwrap().forget();
        streams.give(index);
        assert!(streams.open(second).is_none());
        assert_eq!(streams.take(8), index);
        let third = begin(&mut streams, index);
        assert!(streams.open(second).is_none() && streams.open_ref(third).is_some());
    }

    #[test]
    fn few_streams_keep_their_buffers_and_all_their_keys() {
        let mut streams = Streams::default();
        let taken: Vec<u32> = (0..2 * KEPT_MAX as u32).map(|connection| streams.take(connection)).collect();
        let keys: Vec<RequestKey> = taken.iter().map(|index| begin(&mut streams, *index)).collect();
        for index in taken {
            streams.get_mut(index).unwrap().forget();
            streams.give(index);
        }
        assert_eq!((streams.kept.len(), streams.bare.len()), (KEPT_MAX, KEPT_MAX));
        let buffers =
            |streams: &Streams| (0..2 * KEPT_MAX as u32).filter_map(|index| streams.get(index)).count();
        assert_eq!(buffers(&streams), KEPT_MAX);
        for connection in 0..KEPT_MAX as u32 {
            streams.take(connection);
        }
        assert_eq!(
            (buffers(&streams), streams.kept.len()),
            (KEPT_MAX, 0),
            "those with buffers are lent first"
        );
        let last = streams.take(1);
        let later = begin(&mut streams, last);
        assert!(!keys.contains(&later) && keys.contains(&RequestKey::new(last, later.request() - 1)));
    }
}

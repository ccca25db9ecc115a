//! Slots of connections, and the way from a key to a connection and its stream.
//!
//! Must not know a connection's protocol. Invariant: the reactor's key of a closed connection finds nothing; that of a
//! request, what `streams.rs` promises.

use weft_rt::Readiness;

use crate::connection::Connection;
use crate::keys::{GENERATION_MASK, RequestKey, SERVER_BIT};
use crate::stream::Stream;
use crate::stream::streams::Streams;

/// A place for one connection at a time.
#[derive(Default)]
pub(crate) struct ConnectionSlot {
    /// The generation of the slot's current connection.
    pub generation: u32,
    pub connection: Option<Connection>,
}

impl ConnectionSlot {
    pub(crate) fn reactor_key(&self, index: u32) -> u64 {
        SERVER_BIT | u64::from(self.generation) << 32 | u64::from(index)
    }
}

/// All slots, which grow to the largest number of connections at one time; and the streams that connections have.
#[derive(Default)]
pub(crate) struct Table {
    slots: Vec<ConnectionSlot>,
    vacant: Vec<u32>,
    pub streams: Streams,
}

impl Table {
    /// Puts a connection into a slot.
    pub(crate) fn insert(&mut self, connection: Connection) -> u32 {
        let index = self.vacant.pop().unwrap_or_else(|| {
            self.slots.push(ConnectionSlot::default());
            self.slots.len() as u32 - 1
        });
        let slot = &mut self.slots[index as usize];
        slot.generation = slot.generation.wrapping_add(1) & GENERATION_MASK;
        slot.connection = Some(connection);
        index
    }

    pub(crate) fn remove(&mut self, index: u32) -> Option<Connection> {
        let connection = self.slots.get_mut(index as usize)?.connection.take()?;
        self.vacant.push(index);
        Some(connection)
    }

    pub(crate) fn slot(&mut self, index: u32) -> Option<&mut ConnectionSlot> {
        self.slots.get_mut(index as usize)
    }

    /// The connection in a slot.
    pub(crate) fn at(&mut self, index: u32) -> Option<&mut Connection> {
        self.slots.get_mut(index as usize)?.connection.as_mut()
    }

    /// The connection in a slot, and all streams.
    pub(crate) fn parts(&mut self, index: u32) -> Option<(&mut Connection, &mut Streams)> {
        Some((self.slots.get_mut(index as usize)?.connection.as_mut()?, &mut self.streams))
    }

    /// A slot, and the stream of its connection.
    pub(crate) fn slot_and_stream(
        &mut self,
        index: u32,
    ) -> Option<(&mut ConnectionSlot, Option<&mut Stream>)> {
        let slot = self.slots.get_mut(index as usize)?;
        let stream = slot.connection.as_ref()?.stream.and_then(|stream| self.streams.get_mut(stream));
        Some((slot, stream))
    }

    /// Records what the reactor reports of a connection with this `generation`; false if it is no longer there.
    pub(crate) fn note(&mut self, index: u32, generation: u32, readiness: Readiness) -> bool {
        let slot = self.slots.get_mut(index as usize).filter(|slot| slot.generation == generation);
        let Some(connection) = slot.and_then(|slot| slot.connection.as_mut()) else { return false };
        connection.transport.note(readiness);
        true
    }

    /// The connection with this `generation` in its slot, if it is still there, and its stream, for reading.
    pub(crate) fn connection(&self, index: u32, generation: u32) -> Option<(&Connection, Option<&Stream>)> {
        let slot = self.slots.get(index as usize).filter(|slot| slot.generation == generation)?;
        let connection = slot.connection.as_ref()?;
        Some((connection, connection.stream.and_then(|stream| self.streams.get(stream))))
    }

    /// The stream of `key`'s request and its connection, while its response has not ended.
    pub(crate) fn active(&mut self, key: RequestKey) -> Option<(&mut Connection, &mut Stream)> {
        let stream = self.streams.open(key)?;
        let connection = self.slots.get_mut(stream.connection as usize)?.connection.as_mut()?;
        Some((connection, stream))
    }

    /// [`Table::active`] for reading.
    pub(crate) fn active_ref(&self, key: RequestKey) -> Option<(&Connection, &Stream)> {
        let stream = self.streams.open_ref(key)?;
        let connection = self.slots.get(stream.connection as usize)?.connection.as_ref()?;
        Some((connection, stream))
    }

    /// The connection with the socket: this one, or the one that carries it.
    pub(crate) fn carrier_of<'a>(&'a self, connection: &'a Connection) -> &'a Connection {
        let Some(carried) = connection.transport.carried() else { return connection };
        let slot = self.slots.get(carried.link.carrier as usize);
        let slot = slot.filter(|slot| slot.generation == carried.link.generation);
        slot.and_then(|slot| slot.connection.as_ref()).unwrap_or(connection)
    }

    /// The connection in a slot and its stream, for reading.
    pub(crate) fn peek(&self, index: u32) -> Option<(&Connection, &Stream)> {
        let connection = self.slots.get(index as usize)?.connection.as_ref()?;
        Some((connection, self.streams.get(connection.stream?)?))
    }

    /// Places of connections: those of them that there are, and those that are free.
    pub(crate) fn places(&self) -> usize {
        self.slots.len()
    }

    /// The connections in some of the places, and their streams. There MUST be such places.
    pub(crate) fn occupied_in(
        &self,
        places: std::ops::Range<usize>,
    ) -> impl Iterator<Item = (&Connection, Option<&Stream>)> {
        self.slots[places].iter().filter_map(|slot| {
            let connection = slot.connection.as_ref()?;
            Some((connection, connection.stream.and_then(|stream| self.streams.get(stream))))
        })
    }

    /// The connections, with their slots and their streams.
    pub(crate) fn occupied(
        &self,
    ) -> impl Iterator<Item = (u32, &ConnectionSlot, &Connection, Option<&Stream>)> {
        (0u32..).zip(&self.slots).filter_map(|(index, slot)| {
            let connection = slot.connection.as_ref()?;
            let stream = connection.stream.and_then(|stream| self.streams.get(stream));
            Some((index, slot, connection, stream))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{Source, listener_key, source};

    #[test]
    fn an_idle_connection_is_small() {
        assert!(size_of::<ConnectionSlot>() <= 128, "{}", size_of::<ConnectionSlot>());
    }

    #[test]
    fn reactor_keys_are_read_back() {
        let slot = ConnectionSlot { generation: GENERATION_MASK, ..ConnectionSlot::default() };
        assert!(matches!(
            source(slot.reactor_key(7)),
            Source::Connection { index: 7, generation: GENERATION_MASK }
        ));
        assert!(matches!(source(listener_key(3)), Source::Listener(3)));
    }
}

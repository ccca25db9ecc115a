//! Slots of connections, and the keys that identify a connection or a request in a slot.
//!
//! Invariant: a key identifies one request of one connection. Once that request has been answered, or its slot
//! holds another connection, the key finds nothing; it never finds another request.

use crate::connection::{Connection, Phase};
use crate::keys::{GENERATION_MASK, RequestKey, SERVER_BIT};

/// A place for one connection at a time.
#[derive(Default)]
pub(crate) struct ConnectionSlot {
    /// The generation of the slot's current connection.
    pub generation: u32,
    /// The number of the last request dispatched in this slot.
    pub request: u32,
    pub connection: Option<Connection>,
}

impl ConnectionSlot {
    pub(crate) fn reactor_key(&self, index: u32) -> u64 {
        SERVER_BIT | u64::from(self.generation) << 32 | u64::from(index)
    }
}

/// All slots; the table grows to the largest number of connections at one time.
#[derive(Default)]
pub(crate) struct Table {
    slots: Vec<ConnectionSlot>,
    vacant: Vec<u32>,
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

    /// The connection with this `generation` in its slot, if it is still there.
    pub(crate) fn connection(&mut self, index: u32, generation: u32) -> Option<&mut Connection> {
        let slot = self.slots.get_mut(index as usize)?;
        if slot.generation == generation { slot.connection.as_mut() } else { None }
    }

    /// The connection that `key`'s request belongs to, while its response has not ended.
    pub(crate) fn active(&mut self, key: RequestKey) -> Option<&mut Connection> {
        let slot = self.slots.get_mut(key.index() as usize)?;
        let connection = slot.connection.as_mut()?;
        (slot.request == key.request() && connection.phase == Phase::Active).then_some(connection)
    }

    /// [`Table::active`] for reading.
    pub(crate) fn active_ref(&self, key: RequestKey) -> Option<&Connection> {
        let slot = self.slots.get(key.index() as usize)?;
        let connection = slot.connection.as_ref()?;
        (slot.request == key.request() && connection.phase == Phase::Active).then_some(connection)
    }

    /// The connection in a slot and the key of its last request, for reading.
    pub(crate) fn peek(&self, index: u32) -> Option<(RequestKey, &Connection)> {
        let slot = self.slots.get(index as usize)?;
        Some((RequestKey::new(index, slot.request), slot.connection.as_ref()?))
    }

    /// The slots that have a connection.
    pub(crate) fn occupied(&mut self) -> impl Iterator<Item = (u32, &mut ConnectionSlot)> {
        (0u32..).zip(&mut self.slots).filter(|(_, slot)| slot.connection.is_some())
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

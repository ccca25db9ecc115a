//! The tunnels of a worker, and the keys that name them.
//!
//! Must not know what a tunnel does. Invariant: a key names one tunnel; once that is gone, or its place has another one,
//! the key finds nothing.

use std::collections::VecDeque;

use weft_rt::{Nanos, Runtime};

use crate::keys::TunnelKey;
use crate::tunnel::owner::Awaited;
use crate::tunnel::topics::Topics;
use crate::tunnel::{Tunnel, Turn};

/// A place for one tunnel at a time.
#[derive(Default)]
struct Place {
    generation: u32,
    tunnel: Option<Box<Tunnel>>,
}

/// All tunnels, those among them that have events, and their topics.
#[derive(Default)]
pub(crate) struct Tunnels {
    places: Vec<Place>,
    vacant: Vec<u32>,
    pub due: VecDeque<TunnelKey>,
    /// How many more events may be given in this turn; 0 at all other times.
    pub left_in_turn: usize,
    /// Until when no event is given, because the handler could not handle one.
    pub rests_until: Nanos,
    pub topics: Topics,
    /// Streams of events that have ended, and whose end is to be told.
    pub ended_streams: Vec<TunnelKey>,
}

impl Tunnels {
    /// Takes in a tunnel and gives it its key.
    pub(crate) fn insert(&mut self, mut tunnel: Tunnel) -> TunnelKey {
        if self.places.is_empty() {
            self.places.push(Place::default()); // a connection writes 0 where it has no tunnel
        }
        let number = self.vacant.pop().unwrap_or_else(|| {
            self.places.push(Place::default());
            self.places.len() as u32 - 1
        });
        let place = &mut self.places[number as usize];
        place.generation = place.generation.wrapping_add(1).max(1);
        tunnel.key = TunnelKey(u64::from(place.generation) << 32 | u64::from(number));
        let key = tunnel.key;
        place.tunnel = Some(Box::new(tunnel));
        key
    }

    pub(crate) fn get(&self, key: TunnelKey) -> Option<&Tunnel> {
        let place = self.places.get(key.0 as u32 as usize)?;
        place.tunnel.as_deref().filter(|tunnel| tunnel.key == key)
    }

    pub(crate) fn get_mut(&mut self, key: TunnelKey) -> Option<&mut Tunnel> {
        self.at(key.0 as u32).filter(|tunnel| tunnel.key == key)
    }

    /// The tunnel in this place.
    pub(crate) fn at(&mut self, number: u32) -> Option<&mut Tunnel> {
        self.places.get_mut(number as usize)?.tunnel.as_deref_mut()
    }

    pub(crate) fn remove(&mut self, key: TunnelKey) {
        self.unsubscribe_all(key);
        let number = key.0 as u32;
        if let Some(place) = self.places.get_mut(number as usize)
            && place.tunnel.take_if(|tunnel| tunnel.key == key).is_some()
        {
            self.vacant.push(number);
        }
    }

    /// The number of tunnels.
    pub(crate) fn count(&self) -> usize {
        self.places.len().saturating_sub(1) - self.vacant.len()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Tunnel> {
        self.places.iter_mut().filter_map(|place| place.tunnel.as_deref_mut())
    }

    /// Puts a tunnel that has events into the line, unless it is there or its handler runs; or tells its owner.
    pub(crate) fn make_due(&mut self, number: u32, runtime: &Runtime) {
        let Some(tunnel) = self.at(number).filter(|tunnel| !tunnel.inbox.is_empty()) else { return };
        if tunnel.is_for_owner() {
            if let Some(owner) = &mut tunnel.owner {
                owner.wake(Awaited::Event, runtime);
            }
        } else if tunnel.turn == Turn::Rests {
            tunnel.turn = Turn::Due;
            let key = tunnel.key;
            self.due.push_back(key);
        }
    }
}

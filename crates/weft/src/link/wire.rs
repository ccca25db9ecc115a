//! What links tell each other, as bytes.
//!
//! Must not know what carries them. Invariant: what was encoded is decoded as it was; other bytes, and those of a later
//! version, are nothing.

use bytes::Bytes;

use crate::bus::Message;

/// The first bytes of each packet; the last of them is the version.
const MARK: [u8; 4] = *b"wft\x02";
/// Bytes before what a packet says: the mark, its kind, and the host.
const HEAD_BYTES: usize = 12;

/// What a link says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packet<'a> {
    /// A message of this host. In the order of the host it ends at `end`; the one that was told before ended at `from`.
    Message { from: u64, end: u64, message: Message<'a> },
    /// The host is there, and what it has told ends here.
    Here { end: u64 },
    /// Who is present at that host?
    Ask { host: u32 },
    /// Who is present at this host: a part of the answer.
    Roster { is_first: bool, is_last: bool, rows: &'a [u8] },
    /// The host leaves.
    Bye,
}

impl<'a> Packet<'a> {
    /// The bytes that it takes, from this host.
    pub fn encode(&self, host: u32) -> Bytes {
        let mut bytes = Vec::from(MARK);
        let (kind, flags) = match self {
            Packet::Message { .. } => (0, 0),
            Packet::Here { .. } => (1, 0),
            Packet::Ask { .. } => (2, 0),
            Packet::Roster { is_first, is_last, .. } => (3, u8::from(*is_first) | u8::from(*is_last) << 1),
            Packet::Bye => (4, 0),
        };
        bytes.extend([kind, flags, 0, 0]);
        bytes.extend(host.to_le_bytes());
        match self {
            Packet::Message { from, end, message } => {
                bytes.extend(from.to_le_bytes());
                bytes.extend(end.to_le_bytes());
                bytes.extend(Message { seen: b"", ..*message }.encode());
            }
            Packet::Here { end } => bytes.extend(end.to_le_bytes()),
            Packet::Ask { host } => bytes.extend(host.to_le_bytes()),
            Packet::Roster { rows, .. } => bytes.extend(*rows),
            Packet::Bye => (),
        }
        bytes.into()
    }

    /// Who says it, and what.
    pub fn decode(bytes: &'a [u8]) -> Option<(u32, Packet<'a>)> {
        let (head, rest) = bytes.split_first_chunk::<HEAD_BYTES>()?;
        let [m, a, r, k, kind, flags, _, _, host @ ..] = *head;
        let host = u32::from_le_bytes(host);
        if [m, a, r, k] != MARK || host == 0 {
            return None;
        }
        let packet = match kind {
            0 => {
                let (from, rest) = rest.split_first_chunk::<8>()?;
                let (end, rest) = rest.split_first_chunk::<8>()?;
                let message = Message::decode(rest).filter(|message| message.origin.is_none())?;
                Packet::Message { from: u64::from_le_bytes(*from), end: u64::from_le_bytes(*end), message }
            }
            1 => Packet::Here { end: u64::from_le_bytes(*rest.first_chunk()?) },
            2 => Packet::Ask { host: u32::from_le_bytes(*rest.first_chunk()?) },
            3 => Packet::Roster { is_first: flags & 1 != 0, is_last: flags & 2 != 0, rows: rest },
            4 => Packet::Bye,
            _ => return None,
        };
        Some((host, packet))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::Kind;

    #[test]
    fn a_packet_is_decoded_as_it_was() {
        let message = Message::new(Kind::Binary, (1, 2), b"room", b"payload");
        for packet in [
            Packet::Message { from: 8, end: u64::MAX, message },
            Packet::Here { end: 77 },
            Packet::Ask { host: u32::MAX },
            Packet::Roster { is_first: true, is_last: false, rows: b"rows" },
            Packet::Roster { is_first: false, is_last: true, rows: b"" },
            Packet::Bye,
        ] {
            let bytes = packet.encode(5);
            assert_eq!(Packet::decode(&bytes), Some((5, packet)));
            // Cut anywhere it is nothing, or says less; it is never taken for something else.
            for length in 0..bytes.len() {
                let _ = Packet::decode(&bytes[..length]);
            }
        }
        assert_eq!(Packet::decode(b"hello, world, hello"), None);
        assert_eq!(Packet::decode(&Packet::Bye.encode(0)), None);
        let mut later = Packet::Bye.encode(5).to_vec();
        later[3] += 1;
        assert_eq!(Packet::decode(&later), None);
    }
}

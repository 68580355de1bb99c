// SPDX-License-Identifier: MIT OR Apache-2.0
//! The two layers of framing below NRI's calls, without I/O.
//!
//! The socket carries several connections (`pkg/net/multiplex` of github.com/containerd/nri): each chunk has the number of
//! its connection and its length before it. The bytes of a connection are messages of ttrpc (PROTOCOL.md of
//! github.com/containerd/ttrpc), however they were cut into chunks.

use std::collections::BTreeMap;

use thiserror::Error;

/// Length of a chunk's header: connection and length, 4 bytes each, the most significant first.
const CHUNK_HEADER: usize = 8;
/// Length of a message's header: length and stream, 4 bytes each, the most significant first; type; flags.
const MESSAGE_HEADER: usize = 10;
/// The most data of a message, by ttrpc's specification.
const MESSAGE_LIMIT: usize = 4 << 20;
/// The most bytes of a chunk that a runtime sends: 16 MiB before version 0.8 of NRI.
const CHUNK_LIMIT: usize = 16 << 20;

/// A connection within the socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Connection {
    /// The runtime calls the plugin.
    Plugin = 1,
    /// The plugin calls the runtime.
    Runtime = 2,
}

/// Type of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    Request = 1,
    Response = 2,
}

/// A message of ttrpc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    pub connection: Connection,
    /// Number of the call on its connection.
    pub stream: u32,
    pub kind: Kind,
    pub data: Vec<u8>,
}

/// Bytes that do not follow the protocol.
#[derive(Debug, Error, PartialEq, Eq)]
pub enum FrameError {
    #[error("a chunk of {0} bytes: more than {CHUNK_LIMIT} are not allowed")]
    LongChunk(usize),
    #[error("a message of {0} bytes: more than {MESSAGE_LIMIT} are not allowed")]
    LongMessage(usize),
    #[error("a message of type {0}: only requests (1) and responses (2) are used")]
    UnknownKind(u8),
}

impl Message {
    /// Returns the message as one chunk.
    pub fn encode(&self) -> Vec<u8> {
        let length = self.data.len() as u32;
        let mut bytes = Vec::with_capacity(CHUNK_HEADER + MESSAGE_HEADER + self.data.len());
        bytes.extend((self.connection as u32).to_be_bytes());
        bytes.extend((length + MESSAGE_HEADER as u32).to_be_bytes());
        bytes.extend(length.to_be_bytes());
        bytes.extend(self.stream.to_be_bytes());
        bytes.extend([self.kind as u8, 0]);
        bytes.extend(&self.data);
        bytes
    }
}

/// Puts messages together from what is read from the socket.
#[derive(Debug, Default)]
pub struct Reassembly {
    /// Bytes of the socket that are not a whole chunk yet.
    socket: Vec<u8>,
    /// Bytes of each connection that are not a whole message yet.
    connections: BTreeMap<Connection, Vec<u8>>,
}

impl Reassembly {
    /// Adds bytes from the socket; returns the messages that they complete.
    ///
    /// # Errors
    /// If the bytes do not follow the protocol; nothing that comes later can be understood then.
    pub fn add(&mut self, bytes: &[u8]) -> Result<Vec<Message>, FrameError> {
        self.socket.extend(bytes);
        let mut messages = Vec::new();
        while let Some(header) = self.socket.first_chunk::<CHUNK_HEADER>() {
            let length = number(&header[4..]) as usize;
            if length > CHUNK_LIMIT {
                return Err(FrameError::LongChunk(length));
            }
            let connection = match number(header) {
                1 => Some(Connection::Plugin),
                2 => Some(Connection::Runtime),
                _ => None,
            };
            let end = CHUNK_HEADER + length;
            let Some(content) = self.socket.get(CHUNK_HEADER..end) else {
                break;
            };
            // A connection that nobody has opened is ignored, as runtimes do.
            if let Some(connection) = connection {
                let pending = self.connections.entry(connection).or_default();
                pending.extend(content);
                while let Some(message) = take(connection, pending)? {
                    messages.push(message);
                }
            }
            self.socket.drain(..end);
        }
        Ok(messages)
    }
}

/// Takes the first message out of a connection's bytes, if it is complete.
fn take(connection: Connection, bytes: &mut Vec<u8>) -> Result<Option<Message>, FrameError> {
    let Some(header) = bytes.first_chunk::<MESSAGE_HEADER>() else {
        return Ok(None);
    };
    let length = number(header) as usize;
    if length > MESSAGE_LIMIT {
        return Err(FrameError::LongMessage(length));
    }
    let kind = match header[8] {
        1 => Kind::Request,
        2 => Kind::Response,
        other => return Err(FrameError::UnknownKind(other)),
    };
    let stream = number(&header[4..]);
    let end = MESSAGE_HEADER + length;
    let Some(data) = bytes.get(MESSAGE_HEADER..end) else {
        return Ok(None);
    };
    let message = Message {
        connection,
        stream,
        kind,
        data: data.to_vec(),
    };
    bytes.drain(..end);
    Ok(Some(message))
}

/// Reads the first 4 bytes, of which there are at least so many.
fn number(bytes: &[u8]) -> u32 {
    u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;

    fn message(connection: Connection, stream: u32, data: &[u8]) -> Message {
        Message {
            connection,
            stream,
            kind: Kind::Request,
            data: data.to_vec(),
        }
    }

    #[test]
    fn a_message_has_both_headers() {
        let bytes = Message {
            kind: Kind::Response,
            ..message(Connection::Plugin, 0x0102, b"ab")
        }
        .encode();
        let expected = [
            [0, 0, 0, 1].as_slice(),
            &[0, 0, 0, 12],
            &[0, 0, 0, 2],
            &[0, 0, 1, 2],
            &[2, 0],
            b"ab",
        ]
        .concat();
        assert_eq!(bytes, expected);
    }

    #[test]
    fn messages_survive_any_cut() {
        let sent = [
            message(Connection::Plugin, 1, b"first"),
            message(Connection::Runtime, 1, b""),
            message(Connection::Plugin, 3, &[7; 5000]),
        ];
        let bytes: Vec<u8> = sent.iter().flat_map(Message::encode).collect();
        for size in [1, 2, 7, 4096, bytes.len()] {
            let mut reassembly = Reassembly::default();
            let mut arrived = Vec::new();
            for part in bytes.chunks(size) {
                arrived.extend(reassembly.add(part).unwrap());
            }
            assert_eq!(arrived, sent, "in parts of {size}");
        }
    }

    #[test]
    fn a_message_may_span_chunks_of_its_connection() {
        // A runtime's writer cuts at 4096 bytes; another connection's chunk may come between.
        let whole = message(Connection::Plugin, 5, &[9; 100]).encode();
        let content = &whole[CHUNK_HEADER..];
        let chunk = |part: &[u8]| {
            let length = part.len() as u32;
            [&1u32.to_be_bytes()[..], &length.to_be_bytes(), part].concat()
        };
        let other = message(Connection::Runtime, 1, b"x");
        let bytes = [
            chunk(&content[..30]),
            other.encode(),
            [[0, 0, 0, 9], [0, 0, 0, 1]].concat(),
            vec![0xff],
            chunk(&content[30..]),
        ]
        .concat();
        let arrived = Reassembly::default().add(&bytes).unwrap();
        assert_eq!(arrived, [other, message(Connection::Plugin, 5, &[9; 100])]);
    }

    proptest! {
        /// Bytes that were changed are other messages, or refused.
        #[test]
        fn whatever_arrives_is_messages_or_an_error(
            sizes in prop::collection::vec(0usize..300, 1..6),
            cut in 1usize..200,
            changes in prop::collection::vec((any::<Index>(), any::<u8>()), 0..8),
        ) {
            let sent: Vec<Message> = sizes
                .iter()
                .zip(1..)
                .map(|(&size, stream)| message(Connection::Plugin, stream, &vec![7; size]))
                .collect();
            let whole: Vec<u8> = sent.iter().flat_map(Message::encode).collect();
            let mut bytes = whole.clone();
            for (place, byte) in changes {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            let mut reassembly = Reassembly::default();
            let arrived: Result<Vec<Vec<Message>>, FrameError> =
                bytes.chunks(cut).map(|part| reassembly.add(part)).collect();
            if bytes == whole {
                prop_assert_eq!(arrived.map(|messages| messages.concat()), Ok(sent));
            } else if let Ok(messages) = arrived {
                let taken: usize = messages.concat().iter().map(|one| one.data.len()).sum();
                prop_assert!(taken <= bytes.len());
            }
        }
    }

    #[test]
    fn what_breaks_the_protocol_is_refused() {
        let chunk = [[0, 0, 0, 1], 0x0100_0001u32.to_be_bytes()].concat();
        let refused = Reassembly::default().add(&chunk);
        assert_eq!(refused, Err(FrameError::LongChunk(0x0100_0001)));

        let mut long = message(Connection::Plugin, 1, b"").encode();
        long[CHUNK_HEADER..CHUNK_HEADER + 4].copy_from_slice(&0x0040_0001u32.to_be_bytes());
        let refused = Reassembly::default().add(&long);
        assert_eq!(refused, Err(FrameError::LongMessage(0x0040_0001)));

        let mut data = message(Connection::Plugin, 1, b"").encode();
        data[CHUNK_HEADER + 8] = 3;
        let refused = Reassembly::default().add(&data);
        assert_eq!(refused, Err(FrameError::UnknownKind(3)));
    }
}

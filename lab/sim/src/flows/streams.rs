// SPDX-License-Identifier: MIT OR Apache-2.0
//! Objects that share a connection, as streams of HTTP/2 (RFC 9113) or of QUIC (RFC 9000).
//!
//! The server sends them one after the other, in the order in which their requests arrive: the order of RFC 9218 section 10 for
//! responses of one urgency that are not incremental. So each object is a range of the connection's bytes, which the sender
//! need not know.

use std::collections::VecDeque;

use netnice_queue::Time;

use crate::tcp::{Receiver, Segment};

/// An object that was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Its size.
    pub bytes: u64,
    /// When it was asked for.
    pub at: Time,
    /// The number of its page in the session.
    pub page: u64,
}

/// The objects of one connection.
#[derive(Debug)]
pub(crate) struct Streams {
    /// The session, and the slot of the connection.
    pub session: u32,
    pub connection: u32,
    order: Order,
    /// Number of the first of `asked`.
    first: u32,
    /// The objects whose requests have not arrived, and those behind them: true where the request has.
    asked: VecDeque<(Asked, bool)>,
    /// The objects that are not complete, and those behind them, in the order of their bytes.
    sent: VecDeque<Stream>,
    /// Bytes of all objects that were handed to the sender.
    end: u64,
}

/// An object on its way: the bytes `[start, end)` of the connection.
#[derive(Debug, Clone, Copy)]
struct Stream {
    start: u64,
    end: u64,
    asked: Asked,
    complete: bool,
}

/// How much the streams of a connection wait for one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// All bytes, of data and of requests, reach the programs in order: HTTP/2 over TCP.
    OfBytes,
    /// The bytes of each stream reach the program in order, whatever is missing of others: QUIC (RFC 9000 section 2.2).
    OfEachStream,
}

impl Streams {
    /// The streams of a connection that is not open yet.
    pub fn new(order: Order, session: u32, connection: u32) -> Streams {
        Streams {
            session,
            connection,
            order,
            first: 1,
            asked: VecDeque::new(),
            sent: VecDeque::new(),
            end: 0,
        }
    }

    /// The client asks for an object, by the request of the number returned.
    pub fn ask(&mut self, object: Asked) -> u32 {
        self.asked.push_back((object, false));
        self.first + self.asked.len() as u32 - 1
    }

    /// The request of this number has come to the server: the bytes that it now hands to the sender.
    pub fn request_arrived(&mut self, number: u32) -> u64 {
        let before = self.end;
        let Some(place) = number.checked_sub(self.first) else {
            return 0;
        };
        match self.asked.get_mut(place as usize) {
            Some((object, arrived)) if !*arrived => {
                *arrived = true;
                let object = *object;
                if self.order == Order::OfEachStream {
                    self.send(object);
                }
            }
            _ => return 0,
        }
        while let Some(&(object, true)) = self.asked.front() {
            self.asked.pop_front();
            self.first += 1;
            if self.order == Order::OfBytes {
                self.send(object);
            }
        }
        self.end - before
    }

    fn send(&mut self, asked: Asked) {
        let start = self.end;
        self.end += asked.bytes;
        self.sent.push_back(Stream {
            start,
            end: self.end,
            asked,
            complete: false,
        });
    }

    /// Data have come to the receiver: the objects that are complete with them, each once.
    pub fn data_arrived(&mut self, receiver: &Receiver, segment: &Segment) -> Vec<Asked> {
        let mut complete = Vec::new();
        let arrived = match self.order {
            // Objects end with the bytes in order.
            Order::OfBytes => 0..receiver.goodput_bytes(),
            // Only the objects that the segment has bytes of may be complete with it.
            Order::OfEachStream => segment.sequence..segment.sequence + u64::from(segment.length),
        };
        let first = (self.sent).partition_point(|stream| stream.end <= arrived.start);
        for stream in self.sent.range_mut(first..) {
            if stream.start >= arrived.end {
                break;
            }
            let all = match self.order {
                Order::OfBytes => stream.end <= arrived.end,
                Order::OfEachStream => receiver.has(stream.start, stream.end),
            };
            if all && !stream.complete {
                stream.complete = true;
                complete.push(stream.asked);
            }
        }
        while self.sent.front().is_some_and(|stream| stream.complete) {
            self.sent.pop_front();
        }
        complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::{Mark, ReceiverConfig};

    /// The bytes that the server of three objects, of 10, 20 and 30 bytes, sends as each of these requests arrives.
    fn served(order: Order, requests: [u32; 4]) -> [u64; 4] {
        let mut streams = Streams::new(order, 0, 0);
        for (number, bytes) in (1..).zip([10, 20, 30]) {
            let object = Asked {
                bytes,
                at: Time::ZERO,
                page: 0,
            };
            assert_eq!(streams.ask(object), number);
        }
        requests.map(|request| streams.request_arrived(request))
    }

    #[test]
    fn requests_are_served_once() {
        let orders = [Order::OfBytes, Order::OfEachStream];
        assert_eq!(
            orders.map(|it| served(it, [1, 1, 2, 3])),
            [[10, 0, 20, 30]; 2]
        );
        // A request that nobody has sent.
        assert_eq!(
            orders.map(|it| served(it, [1, 0, 4, 2])),
            [[10, 0, 0, 20]; 2]
        );
    }

    /// The sizes of the objects, of 1000, 1500 and 10 bytes, that are complete with each of these segments: first byte and length.
    fn complete(order: Order, segments: [(u64, u32); 5]) -> [Vec<u64>; 5] {
        let mut streams = Streams::new(order, 0, 0);
        for bytes in [1000, 1500, 10] {
            let number = streams.ask(Asked {
                bytes,
                at: Time::ZERO,
                page: 0,
            });
            assert_eq!(streams.request_arrived(number), bytes);
        }
        let mut receiver = Receiver::new(ReceiverConfig {
            handshake: false,
            ..ReceiverConfig::default()
        });
        segments.map(|(sequence, length)| {
            let segment = Segment {
                sequence,
                length,
                ..Segment::default()
            };
            receiver.on_segment(Time::ZERO, &segment, Mark::NONE);
            while receiver.poll_transmit(Time::ZERO).is_some() {}
            let complete = streams.data_arrived(&receiver, &segment);
            complete.into_iter().map(|object| object.bytes).collect()
        })
    }

    #[test]
    fn an_object_is_complete_once() {
        // A packet with the end of an object and all of the next, which comes twice; then those before it.
        let segments = [
            (2000, 510),
            (2000, 510),
            (1000, 1000),
            (2000, 510),
            (0, 1000),
        ];
        assert_eq!(
            complete(Order::OfEachStream, segments),
            [vec![10], vec![], vec![1500], vec![], vec![1000]]
        );
        assert_eq!(
            complete(Order::OfBytes, segments),
            [vec![], vec![], vec![], vec![], vec![1000, 1500, 10]]
        );
    }

    #[test]
    fn requests_over_tcp_are_served_in_order() {
        assert_eq!(served(Order::OfBytes, [3, 2, 3, 1]), [0, 0, 0, 60]);
        assert_eq!(served(Order::OfEachStream, [3, 2, 3, 1]), [30, 20, 0, 10]);
    }
}

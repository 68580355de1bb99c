// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests that do not wait for one another, over one connection: HTTP/2 and QUIC.
//!
//! Each is a segment with a number. The sender of the data acknowledges each by its number, and an RTO retransmits all that it
//! has not acknowledged.

use std::collections::VecDeque;

use netnice_queue::Time;

use super::{Pending, Receiver, State};
use crate::NEVER_NS;

/// Requests that have no answer.
#[derive(Debug, Clone, Default)]
pub(super) struct Requests {
    /// Those to send next.
    to_send: VecDeque<Request>,
    /// Those sent.
    unanswered: Vec<Request>,
}

#[derive(Debug, Clone, Copy)]
struct Request {
    number: u32,
    /// When it was sent last.
    sent_ns: u64,
    retransmitted: bool,
}

impl Requests {
    /// Has all without an answer retransmitted, in the order of their numbers. Returns how many.
    pub fn retransmit_all(&mut self) -> u32 {
        let again = self.unanswered.len();
        let requests = self.unanswered.drain(..).map(|request| Request {
            retransmitted: true,
            ..request
        });
        self.to_send.extend(requests);
        self.to_send
            .make_contiguous()
            .sort_unstable_by_key(|request| request.number);
        again as u32
    }
}

impl Receiver {
    /// Asks for more data by the request of this number, counted from 1, however much of what it asked for before has arrived. The
    /// first may come before [`Receiver::open`]; for any other [`Receiver::poll_transmit`] must have returned `None`.
    pub fn request(&mut self, number: u32) {
        let requests = self.asking().requests.get_or_insert_default();
        requests.to_send.push_back(Request {
            number,
            sent_ns: 0,
            retransmitted: false,
        });
        if matches!(self.state, State::Requesting | State::Established) {
            self.pending = Pending::Request;
        }
    }

    /// Returns true if its requests do not wait for one another.
    pub(super) fn numbers_requests(&self) -> bool {
        let asking = self.asking.as_deref();
        asking.is_some_and(|asking| asking.requests.is_some())
    }

    /// The number of the request that is sent at `now`; 0 where requests wait for one another.
    pub(super) fn next_request(&mut self, now: Time) -> u32 {
        let Some(requests) = self.asking().requests.as_deref_mut() else {
            return 0;
        };
        let Some(mut request) = requests.to_send.pop_front() else {
            return 0;
        };
        request.sent_ns = now.as_nanos();
        requests.unanswered.push(request);
        request.number
    }

    /// The next request, if one is to be sent.
    pub(super) fn pending_request(&self) -> Pending {
        let requests = self.asking.as_deref().and_then(|it| it.requests.as_deref());
        match requests {
            Some(requests) if !requests.to_send.is_empty() => Pending::Request,
            _ => Pending::Nothing,
        }
    }

    /// The request to retransmit, where all that was sent has no answer.
    pub(super) fn request_again(&mut self) -> Pending {
        if let Some(requests) = &mut self.asking().requests {
            requests.retransmit_all();
        }
        Pending::Request
    }

    /// The sender has the request of this number.
    #[cold]
    pub(super) fn request_answered(&mut self, now: Time, number: u32) {
        let asking = self.asking();
        let Some(requests) = asking.requests.as_deref_mut() else {
            return;
        };
        let mut unanswered = requests.unanswered.iter();
        let Some(place) = unanswered.position(|request| request.number == number) else {
            return;
        };
        let request = requests.unanswered.remove(place);
        let is_last = requests.unanswered.is_empty();
        // Karn: an ACK may be for either transmission.
        if !request.retransmitted {
            asking.timeout.sample(request.sent_ns, now.as_nanos());
        }
        // RFC 6298 sections 5.2 and 5.3.
        self.opening_deadline = match is_last {
            true => NEVER_NS,
            false => (now.as_nanos()).saturating_add(asking.timeout.value_ns()),
        };
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The timers of connections.
//!
//! With thousands of connections the event for a sender's timer finds its connection in memory, and mostly finds that the
//! timer has moved on, as each ACK moves it. So the connections of a whole list of events, of the next few milliseconds, are
//! looked at one behind the other, each fetched ahead, and each event moves on with its timer before it is sorted by time.

use netnice_queue::Time;

use super::Connection;
use crate::engine::source;
use crate::simulation::Simulation;
use crate::time::NEVER;

/// So many connections are fetched ahead.
const AHEAD: usize = 8;

impl Connection {
    /// When the receiver's timer ends, if before `time`.
    #[inline]
    pub fn receiver_timer_before(&self, time: Time) -> Option<Time> {
        let armed = self.shared.receiver_armed;
        (armed < time).then_some(armed)
    }

    /// Likewise the sender's.
    #[inline]
    pub fn sender_timer_before(&self, time: Time) -> Option<Time> {
        let deadline = self.sending.deadline;
        (deadline < time).then_some(deadline)
    }

    /// When the event for the sender's timer that was put down for `time` has to come instead, as far as can be said by then;
    /// `None` where another one has taken its place, or the timer is not set.
    #[inline]
    pub fn move_sender_event(&mut self, time: Time) -> Option<Time> {
        let sending = &mut self.sending;
        if sending.armed != time {
            return None;
        }
        // No earlier: the event is never later than the timer.
        sending.armed = sending.deadline;
        (sending.armed != NEVER).then_some(sending.armed)
    }
}

impl Simulation {
    /// Sorts the next list of events by time.
    #[inline(never)]
    pub(crate) fn sort_timers(&mut self) {
        let (keys, beyond) = self.events.take_list();
        let beyond = Time::from_nanos((beyond >> 32) as u64);
        for &key in keys.iter().take(AHEAD) {
            self.fetch_timer(key);
        }
        let mut ending = Vec::new();
        for (number, &key) in keys.iter().enumerate() {
            if let Some(&ahead) = keys.get(number + AHEAD) {
                self.fetch_timer(ahead);
            }
            let (time, source) = (Time::from_nanos((key >> 32) as u64), key as u32);
            if source & source::KIND == source::SENDER_TIMER {
                let index = (source & source::INDEX) as usize;
                let connection = self.connections.get_mut(index);
                if let Some(due) = connection.move_sender_event(time) {
                    if due < beyond {
                        self.connections.prefetch_sender(index);
                        ending.push(index);
                    }
                    self.events.push(due, source);
                }
            } else {
                self.events.push(time, source);
            }
        }
        for index in ending {
            let sender = &self.connections.get(index).sender;
            sender.prefetch_unusual();
            sender.prefetch_beyond();
        }
    }

    /// Begins to fetch what tells whether a timer has moved on.
    #[inline(always)]
    fn fetch_timer(&self, key: u128) {
        let index = (key as u32 & source::INDEX) as usize;
        match key as u32 & source::KIND {
            source::SENDER_TIMER => self.connections.prefetch_sender_timer(index),
            source::RECEIVER_TIMER => self.connections.prefetch_receiver(index),
            _ => {}
        }
    }

    /// An event for a sender's timer: it may have moved to a later time since, or the slot to another connection or to none.
    ///
    /// It mostly has moved, as each ACK moves it; of such a connection a single cache line is looked at.
    pub(crate) fn on_sender_timer(&mut self, index: usize) {
        let connection = self.connections.get_mut(index);
        let sending = &mut connection.sending;
        if sending.armed > self.now {
            return;
        }
        if sending.deadline > self.now {
            sending.armed = sending.deadline;
            if sending.armed != NEVER {
                self.events
                    .push(sending.armed, source::SENDER_TIMER | index as u32);
            }
            return;
        }
        self.handled += 1;
        sending.armed = NEVER;
        connection.sender.on_timer(self.now);
        self.pump_sender(index);
    }

    /// An event for a receiver's timer, likewise.
    pub(crate) fn on_receiver_timer(&mut self, index: usize) {
        let connection = self.connections.get_mut(index);
        if connection.shared.receiver_armed > self.now {
            return;
        }
        self.handled += 1;
        connection.shared.receiver_armed = NEVER;
        connection.receiver.on_timer(self.now);
        self.pump_receiver(index);
    }
}

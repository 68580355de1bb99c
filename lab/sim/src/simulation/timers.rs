// SPDX-License-Identifier: MIT OR Apache-2.0
//! The timers of connections.
//!
//! With thousands of connections the event for a sender's timer finds its connection in memory, and mostly finds that the
//! timer has moved on, as each ACK moves it. So the connections of a whole list of events, of the next few milliseconds, are
//! looked at one behind the other, and each event moves on with its timer before it is sorted by time.

use netnice_queue::Time;

use crate::engine::event_source;
use crate::engine::scheduler::Scheduler;
use crate::flows::connection::TimerEvent;
use crate::simulation::run::Run;

impl<S: Scheduler> Run<S> {
    /// Sorts the next list of events by time.
    #[inline(never)]
    pub(super) fn sort_timers(&mut self) {
        let keys = self.scheduler.take_timers();
        for key in keys {
            let (time, source) = (Time::from_nanos((key >> 32) as u64), key as u32);
            if source & event_source::KIND == event_source::SENDER_TIMER {
                let index = (source & event_source::INDEX) as usize;
                let connection = self.flows.connections.get_mut(index);
                if let Some(due) = connection.move_sender_event(time) {
                    self.scheduler.insert(due, source);
                }
            } else {
                self.scheduler.insert(time, source);
            }
        }
    }

    /// Handles an event for a sender's timer.
    pub(super) fn on_sender_timer(&mut self, index: usize) {
        let connection = self.flows.connections.get_mut(index);
        match connection.sender_timer_event(self.now) {
            TimerEvent::Obsolete => {}
            TimerEvent::Moved(later) => {
                let source = event_source::SENDER_TIMER | index as u32;
                self.scheduler.insert(later, source);
            }
            TimerEvent::Expired => {
                self.handled += 1;
                self.sample_sender(index);
                let connection = self.flows.connections.get_mut(index);
                connection.sender.on_timer(self.now);
                self.pump_sender(index);
            }
        }
    }

    /// Handles an event for a receiver's timer.
    pub(super) fn on_receiver_timer(&mut self, index: usize) {
        let connection = self.flows.connections.get_mut(index);
        if connection.receiver_timer_event(self.now) == TimerEvent::Expired {
            self.handled += 1;
            connection.receiver.on_timer(self.now);
            self.pump_receiver(index);
        }
    }
}

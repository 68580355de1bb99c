// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sources that write at given times, over UDP or TCP.

use netnice_scenario::model::Transport;

use super::state::{Programs, Timer};
use crate::error::LabError;
use crate::plan::UDP_HEADERS;

impl Programs<'_> {
    /// Does the write of `flow` that is due, and those that fell due meanwhile.
    pub(super) fn write_due(&mut self, flow: usize) -> Result<(), LabError> {
        loop {
            let now = self.clock.now();
            let source = &mut self.sources[flow];
            let Some(write) = source.next else {
                return Ok(());
            };
            if write.at >= source.stop || source.left == 0 {
                source.next = None;
                return Ok(());
            }
            if write.at > now {
                self.at(write.at, Timer::Write(flow));
                return Ok(());
            }
            source.next = source.generator.as_mut().and_then(Iterator::next);
            if write.at >= self.schedule.warm_up {
                let late = now - write.at;
                self.report.lateness.record(late.as_nanos() as u64);
            }
            let group = self.group(flow);
            let headers = match group.transport {
                Transport::Udp => UDP_HEADERS as u64,
                Transport::Tcp => group.header_size.get(),
            };
            let source = &mut self.sources[flow];
            let data = u64::from(write.bytes).saturating_sub(headers).max(1);
            let data = data.min(source.left);
            if source.left != u64::MAX {
                source.left -= data;
            }
            let last = source.left == 0;
            match &source.datagrams {
                Some(socket) => {
                    let sent = socket.send(&self.zeroes[..data as usize]);
                    self.report.unsent += u64::from(sent.is_err());
                }
                None => self.supply(flow, data, last),
            }
        }
    }
}

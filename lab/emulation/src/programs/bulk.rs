// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP senders: transfers, and sources whose writes TCP carries.

use std::io::{self, Write as _};
use std::time::Duration;

use netnice_scenario::model::Application;

use super::connections::Sender;
use super::sockets::socket_address;
use super::state::{Entry, PORT, Programs};
use crate::error::LabError;
use crate::plan;
use crate::tcp_info::TcpInfo;

/// Bytes per write.
pub(super) const CHUNK: usize = 128 * 1024;

impl Programs<'_> {
    /// Starts a flow: connects its sender.
    pub(super) fn start_sender(&mut self, flow: usize) -> Result<(), LabError> {
        let (senders, receivers) = self.plan.ends[flow].clone();
        let socket = self.tcp_socket(senders.start, 0, true)?;
        let to = socket_address(plan::address(receivers.start), PORT);
        match socket.connect(&to) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {}
            Err(error) => {
                self.report.flows[flow].failure = Some(format!("cannot connect: {error}"));
                return Ok(());
            }
        }
        let bulk = matches!(self.group(flow).application, Application::Ftp);
        let source = &mut self.sources[flow];
        let sender = Sender {
            flow,
            socket,
            to_write: if bulk { source.left } else { 0 },
            complete: bulk && source.left != u64::MAX,
            shut: false,
            info: TcpInfo::default(),
            yields: 0,
        };
        let token = self.add(Entry::Sender(sender))?;
        self.sources[flow].entry = Some(token);
        Ok(())
    }

    /// Gives the sender `bytes` more to send; `last` ends its data.
    pub(super) fn supply(&mut self, flow: usize, bytes: u64, last: bool) {
        let Some(token) = self.sources[flow].entry else {
            return;
        };
        let place = token as u32 as usize;
        let Some(Entry::Sender(mut sender)) = self.entries[place].1.take() else {
            return;
        };
        sender.to_write += bytes;
        sender.complete |= last;
        match self.serve_sender(sender) {
            Some(sender) => self.entries[place].1 = Some(Entry::Sender(sender)),
            None => self.free.push(place),
        }
    }

    /// Ends the flow and discards what its sender still holds.
    pub(super) fn stop_sender(&mut self, flow: usize) {
        let Some(token) = self.sources[flow].entry.take() else {
            return;
        };
        self.count_indications(self.clock.now() > self.schedule.warm_up);
        let place = token as u32 as usize;
        if let Some(Entry::Sender(sender)) = self.entries[place].1.take() {
            let _ = sender.socket.set_linger(Some(Duration::ZERO));
            self.free.push(place);
        }
    }

    /// Writes what the socket takes; returns `None` if the socket has failed.
    pub(super) fn serve_sender(&mut self, mut sender: Sender) -> Option<Sender> {
        while sender.to_write > 0 {
            let length = sender.to_write.min(CHUNK as u64) as usize;
            match sender.socket.write(&self.zeroes[..length]) {
                Ok(count) if sender.to_write != u64::MAX => sender.to_write -= count as u64,
                Ok(_) => {}
                // A connection still being established returns ENOTCONN.
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::WouldBlock | io::ErrorKind::NotConnected
                    ) =>
                {
                    return Some(sender);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    self.sources[sender.flow].entry = None;
                    // A flow that starves throughout is a result, not an error.
                    if error.kind() != io::ErrorKind::TimedOut {
                        let failure = format!("its connection failed: {error}");
                        self.report.flows[sender.flow].failure = Some(failure);
                    }
                    return None;
                }
            }
        }
        if sender.complete && !sender.shut {
            sender.shut = sender.socket.shutdown(std::net::Shutdown::Write).is_ok();
        }
        Some(sender)
    }
}

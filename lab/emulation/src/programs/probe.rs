// SPDX-License-Identifier: MIT OR Apache-2.0
//! The senders' state of their connections, read at even intervals.

use netnice_queue::Time;

use super::state::{Entry, Programs};
use crate::tcp_info::TcpInfo;

impl Programs<'_> {
    /// Probes the connections of all senders.
    pub(super) fn probe(&mut self) {
        let measuring = self.clock.now() >= self.schedule.warm_up;
        for (_, entry) in &mut self.entries {
            let Some(Entry::Sender(sender)) = entry else {
                continue;
            };
            let Ok(info) = TcpInfo::of(&sender.socket) else {
                continue;
            };
            if measuring {
                let probe = &mut self.report.flows[sender.flow].probe;
                probe.look(&info, &sender.info);
            }
            sender.info = info;
        }
    }

    /// Reads how many early indications netnice's controls have answered, from the counters of their BPF programs.
    pub(super) fn count_indications(&mut self, measuring: bool) {
        for (_, entry) in &mut self.entries {
            let Some(Entry::Sender(sender)) = entry else {
                continue;
            };
            let Some(yields) = self.controls.yields(&sender.socket) else {
                continue;
            };
            if measuring {
                let more = yields.wrapping_sub(sender.yields);
                self.report.flows[sender.flow].probe.early_indications += u64::from(more);
            }
            sender.yields = yields;
        }
    }

    /// Reads the counts of a connection that ends: of web traffic, whose connections are too short for samples.
    pub(super) fn probe_last(&mut self, flow: usize, socket: &socket2::Socket, begun: Time) {
        if begun < self.schedule.warm_up {
            return;
        }
        if let Ok(info) = TcpInfo::of(socket) {
            let probe = &mut self.report.flows[flow].probe;
            probe.timeouts += info.timeouts.unwrap_or_default();
            probe.early_indications += u64::from(self.controls.yields(socket).unwrap_or_default());
        }
    }

    /// Records a sample of the time series.
    pub(super) fn sample(&mut self) {
        let mut sample = vec![[f64::NAN; 3]; self.sources.len()];
        for (_, entry) in &self.entries {
            let Some(Entry::Sender(sender)) = entry else {
                continue;
            };
            if let Ok(info) = TcpInfo::of(&sender.socket) {
                let rtt = info.smoothed_rtt.as_secs_f64();
                let rtt = if rtt > 0.0 { rtt } else { f64::NAN };
                sample[sender.flow] = [f64::from(info.cwnd), info.ssthresh, rtt];
            }
        }
        self.report.samples.push(sample);
    }
}

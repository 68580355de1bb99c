// SPDX-License-Identifier: MIT OR Apache-2.0
//! The packets sent and not yet acknowledged, and the state of each.

use std::collections::VecDeque;

use super::rack::{Found, Rack};
use super::sent::{LOST, RETRANSMITTED, SACKED, Sent};
use crate::prefetch::prefetch;
use crate::ranges::Ranges;

/// Number of SACKed packets above a packet that indicates its loss (DupThresh of RFC 6675).
const DUP_THRESH: u32 = 3;

/// The outstanding packets in order, each with a number: 0 for the first packet of the connection.
///
/// The first cache line holds the fields that an ACK needs where nothing is lost.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(super) struct Outstanding {
    packets: VecDeque<Sent>,
    /// Number of the packet in front.
    first: u64,
    /// Number of the next packet to send: below the last one's only where all is retransmitted after an RTO.
    pub next: u64,
    sacked: u32,
    lost: u32,
    retransmitted: u32,
    /// False only while `known` is empty.
    any_known: bool,

    /// Packets deemed lost since `take_newly_lost`.
    newly_lost: u32,
    /// Packets deemed lost since the start; one that is lost again counts again.
    pub lost_total: u32,
    /// SACK: packets below this number are SACKed or deemed lost.
    lost_below: u64,
    /// SACK: this recovery retransmits no packet below this number (HighRxt of RFC 6675, plus one).
    pub retransmit_from: u64,
    /// Number after the highest SACKed packet.
    sacked_below: u64,
    known: Ranges,
}

impl Outstanding {
    pub fn len(&self) -> u32 {
        self.packets.len() as u32
    }

    /// Begins to fetch the packets to be acknowledged next, and the newest. Changes nothing.
    #[inline]
    pub fn prefetch(&self) {
        let (first, others) = self.packets.as_slices();
        for sent in first.iter().take(4).chain(others.last()) {
            // It may lie in two cache lines.
            prefetch(&sent.sequence, 1);
            prefetch(&sent.flags, 1);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Number of the first packet.
    pub fn first(&self) -> u64 {
        self.first
    }

    /// Number of the packet that will be new.
    pub fn end(&self) -> u64 {
        self.first + self.packets.len() as u64
    }

    pub fn get_mut(&mut self, number: u64) -> Option<&mut Sent> {
        self.packets
            .get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    fn get(&self, number: u64) -> Option<&Sent> {
        self.packets
            .get(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    /// When the first packet was sent last; 0 if none is outstanding.
    pub fn first_sent_ns(&self) -> u64 {
        self.packets.front().map_or(0, |sent| sent.sent_ns)
    }

    #[inline]
    pub fn push(&mut self, sent: Sent) {
        self.packets.push_back(sent);
        self.next = self.end();
    }

    /// Removes the packet in front if all of it is below `acknowledgement`.
    #[inline]
    pub fn pop_acknowledged(&mut self, acknowledgement: u64) -> Option<Sent> {
        let front = *self.packets.front()?;
        if front.end() > acknowledgement {
            return None;
        }
        self.packets.pop_front();
        self.first += 1;
        self.next = self.next.max(self.first);
        if front.flags & (SACKED | LOST | RETRANSMITTED) != 0 {
            self.sacked -= u32::from(front.flags & SACKED != 0);
            self.lost -= u32::from(front.flags & LOST != 0);
            self.retransmitted -= u32::from(front.flags & RETRANSMITTED != 0);
        }
        Some(front)
    }

    /// Forgets the SACKed ranges of removed packets, and frees memory that a large window left behind.
    pub fn forget_acknowledged(&mut self, acknowledgement: u64) {
        if self.any_known {
            self.known.remove_below(acknowledgement);
            self.any_known = !self.known.is_empty();
        }
        const KEPT: usize = 64;
        if self.packets.is_empty() && self.packets.capacity() > KEPT {
            self.packets.shrink_to(KEPT);
        }
    }

    /// Packets in flight by SACK's account: `pipe` of RFC 6675.
    pub fn pipe(&self) -> u32 {
        self.len() + self.retransmitted - self.sacked - self.lost
    }

    /// Packets outstanding that are not SACKed.
    pub fn unsacked(&self) -> u32 {
        self.len() - self.sacked
    }

    /// Packets SACKed above a gap.
    pub fn sacked(&self) -> u32 {
        self.sacked
    }

    /// Returns true if a packet above a gap was SACKed.
    pub fn any_sacked(&self) -> bool {
        self.sacked > 0
    }

    /// Returns true if a packet is deemed lost.
    pub fn any_lost(&self) -> bool {
        self.lost > 0
    }

    /// Marks `[start, end)` as SACKed; calls `delivered` for each packet SACKed for the first time.
    pub fn sack(&mut self, start: u64, end: u64, mut delivered: impl FnMut(&Sent)) {
        let Outstanding {
            packets,
            known,
            sacked,
            lost,
            retransmitted,
            sacked_below,
            first,
            any_known,
            ..
        } = self;
        *any_known = true;
        known.insert(start, end, |start, end| {
            let mut index = packets.partition_point(|sent| sent.sequence < start);
            while let Some(sent) = packets.get_mut(index).filter(|sent| sent.end() <= end) {
                index += 1;
                *sacked += 1;
                *lost -= u32::from(sent.flags & LOST != 0);
                *retransmitted -= u32::from(sent.flags & RETRANSMITTED != 0);
                delivered(sent);
                sent.flags = sent.flags & !(LOST | RETRANSMITTED) | SACKED;
                *sacked_below = (*sacked_below).max(*first + index as u64);
            }
        });
    }

    /// Deems each packet lost that has three SACKed packets above it: IsLost of RFC 6675.
    pub fn find_lost(&mut self) {
        let mut above = 0;
        let mut number = self.sacked_below;
        while number > self.lost_below.max(self.first) {
            number -= 1;
            if self
                .get(number)
                .is_some_and(|sent| sent.flags & SACKED != 0)
            {
                above += 1;
                if above == DUP_THRESH {
                    self.deem_lost_below(number);
                    return;
                }
            }
        }
    }

    fn deem_lost_below(&mut self, end: u64) {
        for number in self.lost_below.max(self.first)..end {
            self.deem_lost(number);
        }
        self.lost_below = self.lost_below.max(end);
    }

    /// RACK: deems the packets lost that were sent `window_ns` and a round trip ago, if one sent later was delivered (RFC 8985 section
    /// 6.2, step 5).
    pub fn find_lost_by_time(&mut self, rack: &mut Rack, window_ns: u64, now_ns: u64) -> Found {
        let mut found = Found::default();
        // Retransmissions, in the order sent.
        let mut index = 0;
        while let Some(&(number, sent_ns)) = rack.retransmitted.get(index) {
            let Some(sent) = self.retransmitted_at(number, sent_ns) else {
                rack.retransmitted.remove(index);
                continue;
            };
            match rack.remaining_ns(sent, window_ns, now_ns) {
                None => break,
                Some(0) => {
                    rack.retransmitted.remove(index);
                    self.deem_retransmission_lost(number);
                    found.retransmission = true;
                }
                Some(wait_ns) => {
                    found.wait_ns = found.wait_ns.max(wait_ns);
                    index += 1;
                }
            }
        }
        // Packets sent once, which left in the order of their numbers; those below `lost_below` are SACKed or deemed lost.
        let mut number = self.lost_below.max(self.first);
        let mut contiguous = true;
        while let Some(sent) = self.get(number).copied() {
            if sent.flags & (SACKED | LOST | RETRANSMITTED) == 0 {
                match rack.remaining_ns(&sent, window_ns, now_ns) {
                    None => break,
                    Some(0) => {
                        self.deem_lost(number);
                        self.retransmit_from = self.retransmit_from.min(number);
                    }
                    Some(wait_ns) => {
                        found.wait_ns = found.wait_ns.max(wait_ns);
                        contiguous = false;
                    }
                }
            }
            number += 1;
            if contiguous {
                self.lost_below = number;
            }
        }
        found
    }

    /// The packet of this number if its newest transmission was a retransmission at this time.
    fn retransmitted_at(&self, number: u64, sent_ns: u64) -> Option<&Sent> {
        self.get(number)
            .filter(|sent| sent.flags & RETRANSMITTED != 0 && sent.sent_ns == sent_ns)
    }

    fn deem_retransmission_lost(&mut self, number: u64) {
        self.retransmit_from = self.retransmit_from.min(number);
        if let Some(sent) = self.get_mut(number) {
            let first_is_lost = sent.flags & LOST != 0;
            sent.flags = sent.flags & !RETRANSMITTED | LOST;
            self.retransmitted -= 1;
            self.lost += u32::from(!first_is_lost);
            self.newly_lost = self.newly_lost.saturating_add(1);
            self.lost_total = self.lost_total.saturating_add(1);
        }
    }

    /// RACK: the packet to retransmit next.
    pub fn next_overdue(&mut self) -> Option<u64> {
        let mut number = self.retransmit_from.max(self.first);
        while number < self.end() {
            if self.get(number)?.flags & (LOST | RETRANSMITTED) == LOST {
                return Some(number);
            }
            number += 1;
            self.retransmit_from = number;
        }
        None
    }

    /// RACK: deems lost, after an RTO, the first packet and those sent a round trip ago or earlier (RFC 8985 section 6.3).
    pub fn deem_overdue_lost(&mut self, rack: &Rack, now_ns: u64) {
        for number in self.first..self.end() {
            let Some(sent) = self.get(number).copied() else {
                return;
            };
            if number > self.first && rack.overdue_in_ns(&sent, 0, now_ns) > 0 {
                continue;
            }
            if sent.flags & RETRANSMITTED != 0 {
                self.deem_retransmission_lost(number);
            } else {
                self.deem_lost(number);
            }
        }
        self.retransmit_from = self.first;
        self.next = self.end();
    }

    /// Takes back that packets are deemed lost. As in Linux they are not looked at again: if they were lost, it is for the RTO to say so.
    pub fn deem_none_lost(&mut self) {
        for sent in &mut self.packets {
            sent.flags &= !LOST;
        }
        self.lost = 0;
    }

    /// Begins the recovery of RACK, which has deemed packets lost already.
    pub fn begin_recovery_by_time(&mut self) {
        self.retransmit_from = self.first;
    }

    /// Begins SACK's recovery: deems the first packet lost, as duplicate ACKs indicate.
    pub fn begin_recovery(&mut self) {
        self.retransmit_from = self.first;
        self.deem_lost(self.first);
        self.lost_below = self.lost_below.max(self.first + 1);
    }

    fn deem_lost(&mut self, number: u64) {
        if let Some(sent) = self.get_mut(number) {
            if sent.flags & (SACKED | LOST) == 0 {
                sent.flags |= LOST;
                self.lost += 1;
                self.newly_lost = self.newly_lost.saturating_add(1);
                self.lost_total = self.lost_total.saturating_add(1);
            }
        }
    }

    /// Returns the number of packets deemed lost since the last call, those of an RTO not counted.
    #[cold]
    pub fn take_newly_lost(&mut self) -> u32 {
        std::mem::take(&mut self.newly_lost)
    }

    /// Deems all packets lost that are not SACKed, after an RTO; they will be retransmitted.
    pub fn deem_all_lost(&mut self) {
        self.lost = 0;
        self.retransmitted = 0;
        for sent in &mut self.packets {
            let in_flight = sent.flags & (SACKED | LOST) == 0 || sent.flags & RETRANSMITTED != 0;
            self.lost_total = self.lost_total.saturating_add(in_flight.into());
            sent.flags &= !RETRANSMITTED;
            if sent.flags & SACKED == 0 {
                sent.flags |= LOST;
                self.lost += 1;
            }
        }
        self.lost_below = self.end();
        self.retransmit_from = self.first;
        self.next = self.first;
    }

    /// SACK: the packet to retransmit next by NextSeg's rule 1; with `speculative` by rule 3, which does not wait until
    /// it is deemed lost.
    pub fn next_lost(&mut self, speculative: bool) -> Option<u64> {
        let end = if speculative {
            self.sacked_below
        } else {
            self.lost_below
        };
        let mut number = self.retransmit_from.max(self.first);
        while number < end {
            let flags = self.get(number)?.flags;
            if flags & (SACKED | RETRANSMITTED) == 0 {
                return Some(number);
            }
            number += 1;
            if !speculative {
                self.retransmit_from = number;
            }
        }
        None
    }

    /// SACK: the last packet, if it is neither SACKed nor retransmitted in this recovery.
    pub fn last_unknown(&self) -> Option<u64> {
        let mut number = self.end();
        while number > self.first {
            number -= 1;
            let flags = self.get(number)?.flags;
            if flags & SACKED == 0 {
                return (flags & RETRANSMITTED == 0).then_some(number);
            }
        }
        None
    }

    /// SACK: records that packet `number` is retransmitted.
    pub fn note_retransmission(&mut self, number: u64) {
        if let Some(sent) = self.get_mut(number) {
            if sent.flags & (SACKED | RETRANSMITTED) == 0 {
                sent.flags |= RETRANSMITTED;
                self.retransmitted += 1;
            }
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! A packet sent and not yet acknowledged.

/// Flag in [`Sent::flags`], like those below: a SACK block covers the packet.
pub(super) const SACKED: u8 = 1;
/// Deemed lost (RFC 6675's IsLost, or an RTO).
pub(super) const LOST: u8 = 2;
/// Retransmitted in this recovery: in flight again, beside the first transmission if that is not deemed lost.
pub(super) const RETRANSMITTED: u8 = 4;
/// Sent more than once in its life (Karn).
pub(super) const EVER_RETRANSMITTED: u8 = 8;
/// Carries the FIN, which takes a number after the data.
pub(super) const FIN: u8 = 16;
/// Sent while the program had nothing more to send.
pub(super) const APP_LIMITED: u8 = 32;

/// One packet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sent {
    pub sequence: u64,
    pub sent_ns: u64,
    /// Time of the newest delivery known when this packet was sent: P.delivered_time of
    /// draft-cheng-iccrg-delivery-rate-estimation.
    pub delivered_ns: u64,
    /// Lower 32 bits of the number of packets delivered by then: P.delivered.
    pub delivered: u32,
    /// Nanoseconds since the first packet of the flight was sent, at most 4 s: P.sent_time - P.first_sent_time.
    pub send_elapsed_ns: u32,
    pub length: u32,
    pub flags: u8,
}

impl Sent {
    pub fn end(&self) -> u64 {
        self.sequence + u64::from(self.length) + u64::from(self.flags & FIN != 0)
    }
}

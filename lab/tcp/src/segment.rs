// SPDX-License-Identifier: MIT OR Apache-2.0
//! The fields of a TCP segment that the simulation uses.

/// The control bits of a segment (RFC 9293 section 3.1, RFC 3168 section 6.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// Opens a connection.
    pub const SYN: Flags = Flags(1);
    /// The acknowledgement number counts.
    pub const ACK: Flags = Flags(2);
    /// No more data from the sender.
    pub const FIN: Flags = Flags(4);
    /// The receiver reports congestion experienced.
    pub const ECE: Flags = Flags(8);
    /// The sender reports that it has reduced its window.
    pub const CWR: Flags = Flags(16);
    /// Carries a request of an application (an HTTP GET, say) of `length` bytes from the receiver of the data.
    pub const REQUEST: Flags = Flags(32);
    /// With [`Flags::ECE`]: the packet that experienced congestion was within its profile (the papers' Diff-Serv TCP
    /// distinguishes the two; on a wire this would be a reserved bit).
    pub const ECHO_IN_PROFILE: Flags = Flags(64);
    /// Retransmitted data, which are not ECN-capable (RFC 3168 section 6.1.5). No bit on a wire.
    pub const RETRANSMISSION: Flags = Flags(128);

    /// AE (RFC 9768 section 3.1.1): in SYNs, and in segments of the receiver, which retransmits no data.
    pub const AE: Flags = Flags(128);

    /// Returns ACE, the bits AE, CWR and ECE, for the lowest three bits of a counter of marked packets (RFC 9768 section
    /// 3.2.2).
    pub(crate) const fn ace(counter: u8) -> Flags {
        Flags((counter & 4) << 5 | (counter & 2) << 3 | (counter & 1) << 3)
    }

    /// Returns the counter in ACE, from 0 to 7.
    pub const fn ace_counter(self) -> u8 {
        self.0 >> 5 & 4 | self.0 >> 3 & 2 | self.0 >> 3 & 1
    }

    /// Flags of segments that open a connection; no pure ACK has them.
    pub const OPENS: Flags = Flags::SYN.with(Flags::REQUEST);

    /// Returns true if any bit of `other` is set.
    pub const fn any_of(self, other: Flags) -> bool {
        self.0 & other.0 != 0
    }

    /// Returns true if all bits of `other` are set.
    pub const fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Returns the bits of both.
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }
}

/// Data that arrived beyond the cumulative acknowledgement (RFC 2018), relative to it: `[ack + start, ack + end)`. The first block
/// may report a duplicate (RFC 2883): below the acknowledgement, both numbers are then negative in two's complement, the end 0 at
/// most, or within the second block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlock {
    /// Bytes beyond the acknowledgement number where the block begins.
    pub start: u32,
    /// Bytes beyond it where the block ends; equal to `start` in an unused block.
    pub end: u32,
}

impl SackBlock {
    /// Returns true if the block reports anything.
    #[inline]
    pub fn is_used(self) -> bool {
        self.start != self.end
    }
}

/// No blocks.
pub const NO_SACK: [SackBlock; 3] = [SackBlock { start: 0, end: 0 }; 3];

/// One segment of one connection. In a connection data flows one way only, so that `sequence` counts in data segments
/// and `acknowledgement` in ACKs; both count bytes from 0 for the first byte of data, and do not wrap (on a wire they
/// are 32 bits after an initial number; a trace writes them so).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Segment {
    /// First byte of data carried.
    pub sequence: u64,
    /// Every byte before this one has arrived.
    pub acknowledgement: u64,
    /// Bytes of data.
    pub length: u32,
    /// Receive window in bytes, scaled already.
    pub window: u32,
    /// Timestamp value and echo (RFC 7323), in ticks of the stamping host's clock.
    pub tsval: u32,
    /// The echo; meaningful with ACK.
    pub tsecr: u32,
    /// The newest block first (RFC 2018 section 4).
    pub sack: [SackBlock; 3],
    /// Control bits.
    pub flags: Flags,
    /// Where requests do not wait for one another: the number, from 1, of the request in this segment, or of the request that this
    /// segment acknowledges; otherwise 0. On a wire the sequence number and the acknowledgement number of the other direction say it.
    pub request: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ace_is_ae_cwr_and_ece() {
        assert_eq!(Flags::ace(5), Flags::AE.with(Flags::ECE));
        assert_eq!(Flags::ace(10), Flags::CWR);
        for counter in 0..8 {
            let flags = Flags::ACK.with(Flags::FIN).with(Flags::ace(counter));
            assert_eq!(flags.ace_counter(), counter);
        }
    }
}

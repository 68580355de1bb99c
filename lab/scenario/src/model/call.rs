// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls: speech in packets of one size at even intervals.

use netnice_queue::Bytes;
use schemars::JsonSchema;
use serde::Deserialize;

use super::TimeSpan;

/// RTP header without extensions (RFC 3550 section 5.1).
const RTP_HEADER: u64 = 12;

/// One direction of a call over UDP, as by RTP: a packet at each interval, and a receiver with a de-jitter buffer of a
/// fixed delay.
///
/// By default as G.711 is sent (RFC 3551): 160 bytes for 20 ms of speech.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Call {
    /// Time from one packet to the next, and so the speech in each.
    pub interval: TimeSpan,
    /// Speech in each packet; the headers of RTP, UDP and IP come on top.
    pub payload: Bytes,
    /// The first packet that arrives is played so much later, and all others at the interval: a packet that arrives
    /// after its time is as good as lost.
    pub playout_delay: TimeSpan,
    /// Ie of the codec (ITU-T G.113 Appendix I): its impairment without loss, 0 for G.711.
    #[schemars(range(min = 0.0, max = 95.0))]
    pub ie: f64,
    /// Bpl of the codec (ITU-T G.113 Appendix I): its robustness to loss, 25.1 for G.711 with concealment, 4.3 without.
    #[schemars(range(min = 0.1, max = 100.0))]
    pub bpl: f64,
}

impl Default for Call {
    fn default() -> Call {
        Call {
            interval: TimeSpan::from_millis(20),
            payload: Bytes::new(160),
            playout_delay: TimeSpan::from_millis(60),
            ie: 0.0,
            bpl: 25.1,
        }
    }
}

impl Call {
    /// A packet on the link, with so many bytes of UDP's and IP's headers.
    pub fn packet_size(&self, headers: Bytes) -> Bytes {
        let above = RTP_HEADER.saturating_add(headers.get());
        Bytes::new(self.payload.get().saturating_add(above))
    }
}

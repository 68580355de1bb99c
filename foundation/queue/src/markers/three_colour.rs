// SPDX-License-Identifier: MIT OR Apache-2.0
//! Three-colour meters: the single-rate one of RFC 2697 and the two-rate one of RFC 2698.

use serde::{Deserialize, Serialize};

use crate::bucket::Bucket;
use crate::queue_discipline::{Colour, Packet};
use crate::time::Time;
use crate::units::{Bytes, Rate, positive_bytes};

/// Configuration of a single-rate three-colour marker (RFC 2697).
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SrTcmConfig {
    /// CIR: committed information rate, at which the buckets fill, the second from what the first has no room for. It counts
    /// whole IP packets.
    pub rate: Rate,
    /// CBS: committed burst size, the capacity of the first bucket, which starts full.
    #[serde(deserialize_with = "positive_bytes")]
    pub burst: Bytes,
    /// EBS: excess burst size, the capacity of the second bucket, which starts full; with 0 no packet is yellow.
    pub excess_burst: Bytes,
    /// True if packets keep the colour that a meter before has given them, or get a worse one (colour-aware mode).
    #[serde(default)]
    pub colour_aware: bool,
}

/// A single-rate three-colour marker.
#[derive(Debug, Clone)]
pub struct SrTcm {
    committed: Bucket,
    excess: Bucket,
    colour_aware: bool,
}

impl SrTcm {
    /// Creates a marker with full buckets. It is not random, so `seed` has no effect.
    pub fn new(config: &SrTcmConfig, _seed: u64) -> SrTcm {
        SrTcm {
            committed: Bucket::new(config.rate, config.burst),
            excess: Bucket::new(config.rate, config.excess_burst),
            colour_aware: config.colour_aware,
        }
    }

    /// Colours a packet that arrives at `now` (RFC 2697 section 3).
    pub fn tag(&mut self, now: Time, packet: &mut impl Packet) {
        let length = packet.length() as u64;
        self.committed.fill_over_into(now, &mut self.excess);
        let before = before(self.colour_aware, packet);
        let colour = if before == Colour::Green && self.committed.take(length) {
            Colour::Green
        } else if before <= Colour::Yellow && self.excess.take(length) {
            Colour::Yellow
        } else {
            Colour::Red
        };
        packet.set_colour(colour);
    }
}

/// Configuration of a two-rate three-colour marker (RFC 2698).
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrTcmConfig {
    /// CIR: committed information rate. It counts whole IP packets.
    pub rate: Rate,
    /// CBS: committed burst size, the capacity of its bucket, which starts full.
    #[serde(deserialize_with = "positive_bytes")]
    pub burst: Bytes,
    /// PIR: peak information rate, beyond which packets are red; not below `rate`.
    pub peak_rate: Rate,
    /// PBS: peak burst size, the capacity of its bucket, which starts full.
    #[serde(deserialize_with = "positive_bytes")]
    pub peak_burst: Bytes,
    /// True if packets keep the colour that a meter before has given them, or get a worse one (colour-aware mode).
    #[serde(default)]
    pub colour_aware: bool,
}

/// A two-rate three-colour marker.
#[derive(Debug, Clone)]
pub struct TrTcm {
    committed: Bucket,
    peak: Bucket,
    colour_aware: bool,
}

impl TrTcm {
    /// Creates a marker with full buckets. It is not random, so `seed` has no effect.
    pub fn new(config: &TrTcmConfig, _seed: u64) -> TrTcm {
        TrTcm {
            committed: Bucket::new(config.rate, config.burst),
            peak: Bucket::new(config.peak_rate, config.peak_burst),
            colour_aware: config.colour_aware,
        }
    }

    /// Colours a packet that arrives at `now` (RFC 2698 section 3).
    pub fn tag(&mut self, now: Time, packet: &mut impl Packet) {
        let length = packet.length() as u64;
        self.committed.fill(now);
        self.peak.fill(now);
        let before = before(self.colour_aware, packet);
        let colour = if before == Colour::Red || !self.peak.take(length) {
            Colour::Red
        } else if before == Colour::Yellow || !self.committed.take(length) {
            Colour::Yellow
        } else {
            Colour::Green
        };
        packet.set_colour(colour);
    }
}

/// The colour that a packet arrives with: green in colour-blind mode.
fn before(colour_aware: bool, packet: &impl Packet) -> Colour {
    match colour_aware {
        true => packet.colour(),
        false => Colour::Green,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Colour::{Green, Red, Yellow};

    #[derive(Debug)]
    struct Coloured(Colour);

    impl Packet for Coloured {
        fn length(&self) -> usize {
            1000
        }

        fn colour(&self) -> Colour {
            self.0
        }

        fn set_colour(&mut self, colour: Colour) {
            self.0 = colour;
        }
    }

    fn single(colour_aware: bool) -> SrTcm {
        // 1000 bytes each millisecond; two packets committed, three in excess.
        let config = SrTcmConfig {
            rate: "8mbit".parse().unwrap(),
            burst: Bytes::new(2000),
            excess_burst: Bytes::new(3000),
            colour_aware,
        };
        SrTcm::new(&config, 1)
    }

    fn two(colour_aware: bool) -> TrTcm {
        // Committed: a packet each 2 ms, two at once. Peak: a packet each millisecond, three at once.
        let config = TrTcmConfig {
            rate: "4mbit".parse().unwrap(),
            burst: Bytes::new(2000),
            peak_rate: "8mbit".parse().unwrap(),
            peak_burst: Bytes::new(3000),
            colour_aware,
        };
        TrTcm::new(&config, 1)
    }

    fn colour(tag: impl FnOnce(&mut Coloured), before: Colour) -> Colour {
        let mut packet = Coloured(before);
        tag(&mut packet);
        packet.0
    }

    #[test]
    fn a_single_rate_marker_fills_its_second_bucket_last() {
        let mut marker = single(false);
        let mut at = |ms| colour(|packet| marker.tag(Time::from_millis(ms), packet), Red);
        let burst: Vec<Colour> = (0..6).map(|_| at(0)).collect();
        assert_eq!(burst, [Green, Green, Yellow, Yellow, Yellow, Red]);
        // 1 ms: one token for the first bucket. 4 ms: two more fill it, and one goes to the second.
        assert_eq!([at(1), at(1)], [Green, Red]);
        assert_eq!([at(4), at(4), at(4), at(4)], [Green, Green, Yellow, Red]);
        // At most all of both, however long the pause.
        let burst: Vec<Colour> = (0..6).map(|_| at(1000)).collect();
        assert_eq!(burst, [Green, Green, Yellow, Yellow, Yellow, Red]);
    }

    #[test]
    fn a_single_rate_marker_never_improves_a_colour() {
        let mut marker = single(true);
        let mut of = |before| colour(|packet| marker.tag(Time::ZERO, packet), before);
        assert_eq!([of(Yellow), of(Red), of(Yellow)], [Yellow, Red, Yellow]);
        // The committed burst is whole; one packet is left of the excess.
        assert_eq!([of(Green), of(Green), of(Green)], [Green, Green, Yellow]);
        assert_eq!([of(Green), of(Yellow)], [Red, Red]);
    }

    #[test]
    fn a_two_rate_marker_is_red_beyond_the_peak_rate() {
        let mut marker = two(false);
        let mut at = |ms| colour(|packet| marker.tag(Time::from_millis(ms), packet), Red);
        let burst: Vec<Colour> = (0..4).map(|_| at(0)).collect();
        assert_eq!(burst, [Green, Green, Yellow, Red]);
        // 1 ms: a token of the peak, half a committed one, so yellow; 2 ms: one of both.
        assert_eq!([at(1), at(1), at(2), at(2)], [Yellow, Red, Green, Red]);
        // A packet each millisecond is within the peak, and each second one within the committed rate.
        let steady: Vec<Colour> = (3..9).map(&mut at).collect();
        assert_eq!(steady, [Yellow, Green, Yellow, Green, Yellow, Green]);
    }

    #[test]
    fn a_two_rate_marker_never_improves_a_colour() {
        let mut marker = two(true);
        let mut of = |before| colour(|packet| marker.tag(Time::ZERO, packet), before);
        assert_eq!([of(Red), of(Yellow), of(Green)], [Red, Yellow, Green]);
        // A yellow packet took of the peak alone: one is left of it, and one committed.
        assert_eq!([of(Green), of(Green), of(Yellow)], [Green, Red, Red]);
    }
}

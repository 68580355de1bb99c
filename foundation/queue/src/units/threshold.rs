// SPDX-License-Identifier: MIT OR Apache-2.0
//! Thresholds on a queue's length.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::{
    Bytes, QueueBound, Rate, UnitError, bytes, decimal, delay, format_delay, serde_as_text,
};

/// A threshold on a queue's length as configured: `5p` (packets, also `4.5p`), `5kB`, `5ms` at the link's rate, or
/// `15%` of the queue's limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Threshold {
    /// Packets of mean size, fractions included.
    Packets(f64),
    /// Bytes.
    Bytes(Bytes),
    /// Queueing delay: the amount the link sends in this time.
    Time(Duration),
    /// Fraction of the queue's limit, 0 to 1.
    OfLimit(f64),
}

impl Threshold {
    /// Converts the threshold to bytes; a packet counts as `packet_size`.
    pub fn in_bytes(self, rate: Rate, limit: QueueBound, packet_size: Bytes) -> f64 {
        let mean = packet_size.get() as f64;
        match self {
            Threshold::Packets(packets) => packets * mean,
            Threshold::Bytes(bytes) => bytes.get() as f64,
            Threshold::Time(time) => rate.as_f64() * time.as_secs_f64() / 8.0,
            Threshold::OfLimit(fraction) => {
                fraction
                    * match limit {
                        QueueBound::Packets(packets) => packets as f64 * mean,
                        QueueBound::Bytes(bytes) => bytes as f64,
                    }
            }
        }
    }

    /// Converts the threshold to packets of `packet_size`.
    pub fn in_packets(self, rate: Rate, limit: QueueBound, packet_size: Bytes) -> f64 {
        match (self, limit) {
            (Threshold::Packets(packets), _) => packets,
            (Threshold::OfLimit(fraction), QueueBound::Packets(packets)) => {
                fraction * packets as f64
            }
            _ => self.in_bytes(rate, limit, packet_size) / packet_size.get() as f64,
        }
    }
}

impl FromStr for Threshold {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Threshold, UnitError> {
        let error = |problem: &str| {
            let advice =
                "write it as 5p (packets), 5kB, 5ms (at the link's rate) or 15% (of the limit)";
            UnitError::new("threshold", text, problem, advice)
        };
        let (number, unit) = decimal::split_unit(text);
        let unreadable = || error("has no number that can be read before its unit");
        let float = || {
            decimal::scale(number, 1).ok_or_else(unreadable)?;
            number.parse::<f64>().map_err(|_| unreadable())
        };
        match unit {
            "p" | "packet" | "packets" => Ok(Threshold::Packets(float()?)),
            "%" => match float()? {
                percent if percent <= 100.0 => Ok(Threshold::OfLimit(percent / 100.0)),
                _ => Err(error("is more than the limit")),
            },
            "" => Err(error("has no unit")),
            _ => match (bytes::unit(unit), delay::unit(unit)) {
                (Some(unit), _) => decimal::scale(number, unit)
                    .map(|bytes| Threshold::Bytes(Bytes::new(bytes)))
                    .ok_or_else(unreadable),
                (None, Some(unit)) => decimal::scale(number, unit)
                    .map(|nanoseconds| Threshold::Time(Duration::from_nanos(nanoseconds)))
                    .ok_or_else(unreadable),
                (None, None) => Err(error("has an unknown unit")),
            },
        }
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Threshold::Packets(packets) => write!(f, "{packets}p"),
            Threshold::Bytes(bytes) => write!(f, "{bytes}"),
            Threshold::Time(time) => f.write_str(&format_delay(*time)),
            Threshold::OfLimit(fraction) => write!(f, "{}%", fraction * 100.0),
        }
    }
}

serde_as_text!(
    Threshold,
    "a threshold such as \"5p\", \"5kB\", \"5ms\" or \"15%\"",
    r"^(\$\w+|\d+(\.\d+)?(p|packets?|B|kB|MB|GB|KiB|MiB|GiB|ns|us|ms|s|min|%))$",
    "string"
);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_each_kind_of_threshold() {
        for (text, threshold) in [
            ("5p", Threshold::Packets(5.0)),
            ("3.45p", Threshold::Packets(3.45)),
            ("5kB", Threshold::Bytes(Bytes::new(5_000))),
            ("5ms", Threshold::Time(Duration::from_millis(5))),
            ("15%", Threshold::OfLimit(0.15)),
        ] {
            assert_eq!(text.parse::<Threshold>().unwrap(), threshold, "{text}");
        }
    }

    #[test]
    fn what_is_no_threshold_is_refused() {
        for text in ["5", "", "p", "-1p", "101%", "5pkts", "1e3p", "infp"] {
            let error = text.parse::<Threshold>().unwrap_err().to_string();
            assert!(error.contains("write it as 5p"), "{text}: {error}");
        }
    }

    #[test]
    fn all_kinds_mean_the_same_length() {
        // 8 Mb/s sends 5,000 bytes in 5 ms: five packets of 1000 bytes, a tenth of fifty.
        let (rate, mean) = ("8mbit".parse().unwrap(), Bytes::new(1000));
        for limit in [QueueBound::Packets(50), QueueBound::Bytes(50_000)] {
            for text in ["5p", "5kB", "5ms", "10%"] {
                let threshold: Threshold = text.parse().unwrap();
                assert_eq!(threshold.in_packets(rate, limit, mean), 5.0, "{text}");
                assert_eq!(threshold.in_bytes(rate, limit, mean), 5000.0, "{text}");
            }
        }
    }

    proptest! {
        #[test]
        fn text_reads_back_as_the_same_threshold(thousandths in 0u32..1_000_000, nanoseconds in any::<u64>()) {
            for threshold in [
                Threshold::Packets(f64::from(thousandths) / 1000.0),
                Threshold::Bytes(Bytes::new(nanoseconds)),
                Threshold::Time(Duration::from_nanos(nanoseconds)),
            ] {
                prop_assert_eq!(threshold.to_string().parse::<Threshold>().unwrap(), threshold);
            }
        }
    }
}

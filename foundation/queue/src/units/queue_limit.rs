// SPDX-License-Identifier: MIT OR Apache-2.0
//! Limits on a queue's length.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::{Bytes, Rate, UnitError, bytes, decimal, delay, format_delay, serde_as_text};

/// A queue's limit as configured: `83p`, `100kB`, `50ms` at the link's rate, `2.5bdp`. Never zero.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum QueueLimit {
    /// Packets of any size.
    Packets(u32),
    /// Bytes.
    Bytes(Bytes),
    /// Bytes that the link sends in this time.
    Time(Duration),
    /// Bandwidth-delay products: rate times base RTT (propagation both ways), in packets of the link's MTU.
    Bdp(f64),
}

/// A queue's limit in the unit that a discipline counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QueueBound {
    /// Packets waiting.
    Packets(usize),
    /// Bytes waiting.
    Bytes(u64),
}

impl QueueBound {
    /// Returns whether a queue of `packets` and `bytes` has room for a packet of `length` bytes.
    #[inline]
    pub fn fits(self, packets: usize, bytes: u64, length: u64) -> bool {
        match self {
            QueueBound::Packets(limit) => packets < limit,
            QueueBound::Bytes(limit) => bytes + length <= limit,
        }
    }
}

impl QueueLimit {
    /// Converts the limit for a link of this rate, base RTT and MTU (bytes). `Bdp` is rounded to the nearest number of
    /// packets, at least one; `Time` allows at least one packet of the MTU.
    pub fn resolve(self, rate: Rate, base_rtt: Duration, mtu: usize) -> QueueBound {
        match self {
            QueueLimit::Packets(packets) => QueueBound::Packets(packets as usize),
            QueueLimit::Bytes(bytes) => QueueBound::Bytes(bytes.get()),
            QueueLimit::Time(time) => QueueBound::Bytes(rate.bytes_in(time).get().max(mtu as u64)),
            QueueLimit::Bdp(multiple) => {
                let packets = multiple * rate.as_f64() * base_rtt.as_secs_f64() / (8 * mtu) as f64;
                QueueBound::Packets((packets.round() as usize).max(1))
            }
        }
    }
}

impl FromStr for QueueLimit {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<QueueLimit, UnitError> {
        let error = |problem: &str| {
            let advice = "write it as 83p (packets), 100kB, 50ms (at the link's rate) or 2.5bdp, more than zero";
            UnitError::new("queue limit", text, problem, advice)
        };
        let (number, unit) = decimal::split_unit(text);
        let unreadable = || error("has no number that can be read before its unit");
        let limit = match unit {
            "p" | "packet" | "packets" => {
                QueueLimit::Packets(number.parse().map_err(|_| unreadable())?)
            }
            "bdp" => {
                decimal::scale(number, 1).ok_or_else(unreadable)?;
                QueueLimit::Bdp(number.parse().map_err(|_| unreadable())?)
            }
            "" => return Err(error("has no unit")),
            _ => match (bytes::unit(unit), delay::unit(unit)) {
                (Some(unit), _) => QueueLimit::Bytes(Bytes::new(
                    decimal::scale(number, unit).ok_or_else(unreadable)?,
                )),
                (None, Some(unit)) => QueueLimit::Time(Duration::from_nanos(
                    decimal::scale(number, unit).ok_or_else(unreadable)?,
                )),
                (None, None) => return Err(error("has an unknown unit")),
            },
        };
        match limit {
            QueueLimit::Packets(0) | QueueLimit::Time(Duration::ZERO) => {
                Err(error("holds nothing"))
            }
            QueueLimit::Bytes(bytes) if bytes.get() == 0 => Err(error("holds nothing")),
            QueueLimit::Bdp(multiple) if multiple <= 0.0 => Err(error("holds nothing")),
            limit => Ok(limit),
        }
    }
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueLimit::Packets(packets) => write!(f, "{packets}p"),
            QueueLimit::Bytes(bytes) => write!(f, "{bytes}"),
            QueueLimit::Time(time) => f.write_str(&format_delay(*time)),
            QueueLimit::Bdp(multiple) => write!(f, "{multiple}bdp"),
        }
    }
}

serde_as_text!(
    QueueLimit,
    "a queue's limit such as \"83p\", \"100kB\", \"50ms\" or \"2.5bdp\"",
    r"^(\$\w+|\d+(p|packets?)|\d+(\.\d+)?(B|kB|MB|GB|KiB|MiB|GiB|ns|us|ms|s|min|bdp))$",
    "string"
);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_each_kind_of_limit() {
        for (text, limit) in [
            ("83p", QueueLimit::Packets(83)),
            ("83packets", QueueLimit::Packets(83)),
            ("100kB", QueueLimit::Bytes(Bytes::new(100_000))),
            ("50ms", QueueLimit::Time(Duration::from_millis(50))),
            ("2.5bdp", QueueLimit::Bdp(2.5)),
        ] {
            assert_eq!(text.parse::<QueueLimit>().unwrap(), limit, "{text}");
        }
    }

    #[test]
    fn a_limit_that_is_none_is_refused() {
        for text in [
            "83", "0p", "0bdp", "0ms", "0kB", "1.5p", "x", "", "5pkts", "bdp", "-1p",
        ] {
            let error = text.parse::<QueueLimit>().unwrap_err().to_string();
            assert!(error.contains("write it as 83p"), "{text}: {error}");
        }
    }

    #[test]
    fn bandwidth_delay_products_are_counted_in_packets_of_the_mtu() {
        let rate: Rate = "10mbit".parse().unwrap();
        let rtt = Duration::from_millis(40);
        // 10 Mb/s * 40 ms = 50,000 bytes = 33.3 packets of 1500 bytes; 2.5 times that is 83.3.
        assert_eq!(
            QueueLimit::Bdp(2.5).resolve(rate, rtt, 1500),
            QueueBound::Packets(83)
        );
        assert_eq!(
            QueueLimit::Bdp(1.0).resolve(rate, rtt, 1500),
            QueueBound::Packets(33)
        );
        assert_eq!(
            QueueLimit::Bdp(1.0).resolve(rate, Duration::ZERO, 1500),
            QueueBound::Packets(1)
        );
        assert_eq!(
            QueueLimit::Time(Duration::from_millis(50)).resolve(rate, rtt, 1500),
            QueueBound::Bytes(62_500)
        );
        assert_eq!(
            QueueLimit::Time(Duration::from_nanos(1)).resolve(rate, rtt, 1500),
            QueueBound::Bytes(1500)
        );
    }

    fn any_limit() -> impl Strategy<Value = QueueLimit> {
        prop_oneof![
            (1u32..).prop_map(QueueLimit::Packets),
            (1u64..).prop_map(|bytes| QueueLimit::Bytes(Bytes::new(bytes))),
            (1u64..).prop_map(|nanoseconds| QueueLimit::Time(Duration::from_nanos(nanoseconds))),
            (1u32..1_000_000)
                .prop_map(|thousandths| QueueLimit::Bdp(f64::from(thousandths) / 1000.0)),
        ]
    }

    proptest! {
        #[test]
        fn text_reads_back_as_the_same_limit(limit in any_limit()) {
            prop_assert_eq!(limit.to_string().parse::<QueueLimit>().unwrap(), limit);
        }
    }
}

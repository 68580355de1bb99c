// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rates in bits per second.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::{Bytes, UnitError, decimal, serde_as_text};

const UNITS: [(&str, u64); 4] = [
    ("gbit", 1_000_000_000),
    ("mbit", 1_000_000),
    ("kbit", 1_000),
    ("bit", 1),
];

/// A rate of at least 1 bit/s and at most 1 Tbit/s. Written `10mbit`, `1.5mbit`, `500kbit`, `1gbit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(u64);

impl Rate {
    /// Largest rate of a link; keeps its arithmetic within 64 bits.
    pub const MAX: Rate = Rate(1_000_000_000_000);

    /// Creates a rate of `bits` per second; an error for 0 and above 1 Tbit/s.
    pub fn from_bits_per_second(bits: u64) -> Result<Rate, UnitError> {
        if bits == 0 || bits > Rate::MAX.0 {
            return Err(UnitError::new(
                "rate",
                &format!("{bits}bit"),
                "is out of range",
                "allowed are 1bit to 1000gbit per second",
            ));
        }
        Ok(Rate(bits))
    }

    /// Bits per second.
    pub const fn bits_per_second(self) -> u64 {
        self.0
    }

    /// Bits per second as a floating-point number, for ratios.
    pub fn as_f64(self) -> f64 {
        self.0 as f64
    }

    /// Time to send `bytes`, rounded down to the nanosecond.
    pub fn time_to_send(self, bytes: Bytes) -> Duration {
        let nanoseconds = u128::from(bytes.get()) * 8 * 1_000_000_000 / u128::from(self.0);
        Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX))
    }

    /// Bytes sent in `time`, rounded down.
    pub fn bytes_in(self, time: Duration) -> Bytes {
        let bytes = u128::from(self.0) * time.as_nanos() / 8_000_000_000;
        Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX))
    }
}

impl FromStr for Rate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Rate, UnitError> {
        let (number, unit) = decimal::split_unit(text);
        let usual =
            "write it as 10mbit, 1.5mbit or 500kbit (units: bit, kbit, mbit, gbit per second)";
        let Some(&(_, bits)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            let problem = decimal::wrong_unit(unit);
            return Err(match meant(unit) {
                Some(unit) if !number.is_empty() => UnitError::new(
                    "rate",
                    text,
                    problem,
                    format!(
                        "for bits per second write {number}{unit} (units: bit, kbit, mbit, gbit)"
                    ),
                ),
                _ => UnitError::new("rate", text, problem, usual),
            });
        };
        match decimal::scale(number, bits) {
            None => Err(UnitError::new(
                "rate",
                text,
                "has no number that can be read before its unit",
                usual,
            )),
            Some(bits) if bits == 0 || bits > Rate::MAX.0 => Err(UnitError::new(
                "rate",
                text,
                "is out of range",
                "allowed are 1bit to 1000gbit per second",
            )),
            Some(bits) => Ok(Rate(bits)),
        }
    }
}

/// Suggests the unit probably meant by a common but ambiguous spelling.
fn meant(unit: &str) -> Option<&'static str> {
    let unit = unit.to_ascii_lowercase();
    let prefix = unit
        .strip_suffix("bits")
        .or_else(|| unit.strip_suffix("bit"));
    let prefix = prefix
        .or_else(|| unit.strip_suffix("bps"))
        .or_else(|| unit.strip_suffix("b/s"));
    match prefix.or_else(|| unit.strip_suffix("b")).unwrap_or(&unit) {
        "k" => Some("kbit"),
        "m" => Some("mbit"),
        "g" => Some("gbit"),
        "" if !unit.is_empty() => Some("bit"),
        _ => None,
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        decimal::write(f, self.0, &UNITS)
    }
}

serde_as_text!(
    Rate,
    "a rate such as \"10mbit\"",
    r"^(\$\w+|\d+(\.\d+)?[kmg]?bit)$",
    "string"
);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_the_usual_rates() {
        for (text, bits) in [
            ("10mbit", 10_000_000),
            ("1.5mbit", 1_500_000),
            ("500kbit", 500_000),
            ("1gbit", 1_000_000_000),
            ("8bit", 8),
            ("0.001kbit", 1),
        ] {
            assert_eq!(
                text.parse::<Rate>().unwrap().bits_per_second(),
                bits,
                "{text}"
            );
        }
    }

    #[test]
    fn an_ambiguous_unit_is_refused_with_what_to_write() {
        for (text, advice) in [
            ("10mb", "write 10mbit"),
            ("10MB", "write 10mbit"),
            ("10Mbps", "write 10mbit"),
            ("10Mbit", "write 10mbit"),
            ("64k", "write 64kbit"),
            ("5", "write it as 10mbit"),
            ("mbit", "write it as 10mbit"),
            ("1.2.3mbit", "write it as 10mbit"),
            ("-1mbit", "write it as 10mbit"),
            ("10 mbit", "write it as 10mbit"),
            ("0mbit", "allowed are 1bit"),
            ("5000gbit", "allowed are 1bit"),
            ("99999999999999999999gbit", "write it as 10mbit"),
        ] {
            let error = text.parse::<Rate>().unwrap_err().to_string();
            assert!(
                error.contains(advice) && error.contains(text),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn a_full_packet_at_12_mbit_takes_a_millisecond() {
        let rate: Rate = "12mbit".parse().unwrap();
        assert_eq!(
            rate.time_to_send(Bytes::new(1500)),
            Duration::from_millis(1)
        );
        assert_eq!(rate.bytes_in(Duration::from_millis(40)), Bytes::new(60_000));
    }

    proptest! {
        #[test]
        fn text_reads_back_as_the_same_rate(bits in 1u64..=Rate::MAX.0) {
            let rate = Rate::from_bits_per_second(bits).unwrap();
            prop_assert_eq!(rate.to_string().parse::<Rate>().unwrap(), rate);
        }

        #[test]
        fn no_text_makes_it_panic(text in ".{0,12}") {
            let _ = text.parse::<Rate>();
        }
    }
}

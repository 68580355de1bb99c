// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packet loss fractions.

use std::fmt;
use std::str::FromStr;

use super::{UnitError, decimal, serde_as_text};

const BILLION: u64 = 1_000_000_000;
/// Billionths in one percent.
const PERCENT: u64 = BILLION / 100;

/// Probability of packet loss, in steps of one billionth. Written `1%`, `0.01%` or `0.0001`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct LossFraction {
    billionths: u64,
}

impl LossFraction {
    /// No loss.
    pub const NONE: LossFraction = LossFraction { billionths: 0 };

    /// Creates the fraction `billionths` / 10^9; an error if it exceeds 1.
    pub fn from_billionths(billionths: u64) -> Result<LossFraction, UnitError> {
        if billionths > BILLION {
            let given = format!("{billionths}e-9");
            return Err(UnitError::new(
                "loss",
                &given,
                "is out of range",
                "allowed are 0% to 100%",
            ));
        }
        Ok(LossFraction { billionths })
    }

    /// The probability, 0 to 1.
    pub fn as_f64(self) -> f64 {
        self.billionths as f64 / BILLION as f64
    }

    /// Returns whether a packet that drew `random`, uniform over 64 bits, is lost.
    pub(crate) fn strikes(self, random: u64) -> bool {
        // random / 2^64 < billionths / 10^9, without rounding.
        u128::from(random) * u128::from(BILLION) < u128::from(self.billionths) << 64
    }
}

impl FromStr for LossFraction {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<LossFraction, UnitError> {
        let advice = "write it as 1%, 0.01% or 0.0001, from 0% to 100%";
        let (number, unit) = decimal::split_unit(text);
        let (scale, limit) = match unit {
            "%" => (PERCENT, BILLION),
            // A bare 1 is ambiguous: all packets or one percent.
            "" => (BILLION, BILLION - 1),
            _ => {
                let problem = format!("has the unknown unit `{unit}`");
                return Err(UnitError::new("loss", text, problem, advice));
            }
        };
        match decimal::scale(number, scale) {
            Some(billionths) if billionths <= limit => Ok(LossFraction { billionths }),
            Some(_) if unit.is_empty() => Err(UnitError::new(
                "loss",
                text,
                "is not below 1 and has no unit",
                format!("write {number}%, or 100% for all packets"),
            )),
            Some(_) => Err(UnitError::new(
                "loss",
                text,
                "is more than everything",
                advice,
            )),
            None => Err(UnitError::new("loss", text, "is not a number", advice)),
        }
    }
}

impl fmt::Display for LossFraction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, fraction) = (self.billionths / PERCENT, self.billionths % PERCENT);
        match fraction {
            0 => write!(f, "{whole}%"),
            _ => write!(
                f,
                "{whole}.{}%",
                format!("{fraction:07}").trim_end_matches('0')
            ),
        }
    }
}

serde_as_text!(
    LossFraction,
    "a share such as \"1%\"",
    r"^(\$\w+|\d+(\.\d+)?%|0?\.\d+|0)$",
    ["string", "number"]
);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_percent_and_fractions() {
        for (text, billionths) in [
            ("1%", 10_000_000),
            ("0.0001", 100_000),
            ("0.01%", 100_000),
            ("0", 0),
            ("0%", 0),
            ("100%", BILLION),
        ] {
            assert_eq!(
                text.parse::<LossFraction>().unwrap().billionths,
                billionths,
                "{text}"
            );
        }
    }

    #[test]
    fn what_is_no_loss_is_refused() {
        for text in ["1", "101%", "5pct", "", "%", "-1%"] {
            let error = text.parse::<LossFraction>().unwrap_err().to_string();
            assert!(error.contains("1%"), "{text}: {error}");
        }
        assert!(
            "2".parse::<LossFraction>()
                .unwrap_err()
                .to_string()
                .contains("write 2%")
        );
    }

    #[test]
    fn the_extremes_lose_nothing_and_everything() {
        assert!(!LossFraction::NONE.strikes(0));
        assert!("100%".parse::<LossFraction>().unwrap().strikes(u64::MAX));
    }

    proptest! {
        #[test]
        fn text_reads_back_as_the_same_loss(billionths in 0..=BILLION) {
            let loss = LossFraction { billionths };
            prop_assert_eq!(loss.to_string().parse::<LossFraction>().unwrap(), loss);
        }
    }
}

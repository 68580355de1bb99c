// SPDX-License-Identifier: MIT OR Apache-2.0
//! Decimal numbers followed by a unit, read and written in integer arithmetic so that no value suffers binary rounding.

use std::fmt;

/// Splits `10.5mbit` into `10.5` and `mbit`. The number may be empty or malformed: [`scale`] rejects it.
pub(super) fn split_unit(text: &str) -> (&str, &str) {
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    text.split_at(end)
}

/// Describes the mistake in a text whose number is followed by `unit`, which is unknown or empty.
pub(super) fn wrong_unit(unit: &str) -> String {
    match unit {
        "" => "has no unit".to_owned(),
        _ if unit.starts_with(',') => "has a comma in place of a decimal point".to_owned(),
        _ => format!("has the unknown unit `{unit}`"),
    }
}

/// Returns `number` times `unit`, rounded to the nearest integer; `None` if it is not a number or exceeds 64 bits.
pub(super) fn scale(number: &str, unit: u64) -> Option<u64> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() || (number.contains('.') && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    // More than 18 decimals are below the resolution of every unit, and would overflow.
    let fraction = &fraction[..fraction.len().min(18)];
    let whole: u128 = whole.parse().ok()?;
    let decimals = 10u128.pow(fraction.len() as u32);
    let fraction: u128 = if fraction.is_empty() {
        0
    } else {
        fraction.parse().ok()?
    };
    let scaled = whole.checked_mul(u128::from(unit))?
        + (fraction * u128::from(unit) + decimals / 2) / decimals;
    u64::try_from(scaled).ok()
}

/// Writes `value` in the largest unit in which it needs at most three decimals; `units` are in descending order and end
/// with 1.
pub(super) fn write(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)]) -> fmt::Result {
    for &(name, unit) in units {
        let grain = (unit / 1000).max(1);
        if value >= unit && value % grain == 0 || unit == 1 {
            let thousandths = if unit == 1 { 0 } else { value % unit / grain };
            let whole = value / unit;
            return match thousandths {
                0 => write!(f, "{whole}{name}"),
                _ => write!(
                    f,
                    "{whole}.{}{name}",
                    format!("{thousandths:03}").trim_end_matches('0')
                ),
            };
        }
    }
    unreachable!("the last unit is 1")
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values of sweeps as numbers.

use netnice_queue::{Bytes, LossFraction, Rate, TimeSpan};

/// A value of a sweep as a number, with the unit that it is in.
pub fn quantity(text: &str) -> Option<(f64, &'static str)> {
    if let Ok(number) = text.parse() {
        return Some((number, ""));
    }
    if let Ok(time) = text.parse::<TimeSpan>() {
        return Some((time.get().as_secs_f64(), "s"));
    }
    if let Ok(rate) = text.parse::<Rate>() {
        return Some((rate.as_f64() / 1e6, "Mb/s"));
    }
    if let Ok(size) = text.parse::<Bytes>() {
        return Some((size.get() as f64 / 1e3, "kB"));
    }
    if let Ok(loss) = text.parse::<LossFraction>() {
        return Some((loss.as_f64(), ""));
    }
    for (ending, unit) in [("bdp", "bandwidth-delay products"), ("p", "packets")] {
        if let Some(Ok(number)) = text.strip_suffix(ending).map(str::parse) {
            return Some((number, unit));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_a_sweep_are_quantities() {
        for (text, expected) in [
            ("50ms", Some((0.05, "s"))),
            ("10mbit", Some((10.0, "Mb/s"))),
            ("64kB", Some((64.0, "kB"))),
            ("1%", Some((0.01, ""))),
            ("2.5bdp", Some((2.5, "bandwidth-delay products"))),
            ("20p", Some((20.0, "packets"))),
            ("7", Some((7.0, ""))),
            ("reno", None),
        ] {
            assert_eq!(quantity(text), expected, "{text}");
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! From values to places, and the ticks of an axis.

/// An axis: values of `domain` lie between the places `from` and `to`.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// Least and largest value.
    pub domain: [f64; 2],
    /// By logarithms.
    pub logarithmic: bool,
    /// Place of the least value.
    pub from: f64,
    /// Place of the largest value.
    pub to: f64,
}

/// A tick and its label.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// Its value.
    pub value: f64,
    /// Its value in words, as short as the ticks beside it allow.
    pub label: String,
}

impl Scale {
    /// The place of a value.
    pub fn place(&self, value: f64) -> f64 {
        let [least, largest] = self.domain;
        let part = match self.logarithmic {
            true => (value / least).ln() / (largest / least).ln(),
            false => (value - least) / (largest - least),
        };
        self.from + part * (self.to - self.from)
    }

    /// About `wanted` ticks at round values.
    pub fn ticks(&self, wanted: f64) -> Vec<Tick> {
        match self.logarithmic {
            true => logarithmic_ticks(self.domain, wanted),
            false => linear_ticks(self.domain, wanted),
        }
    }
}

/// Multiples of 1, 2 or 5 times a power of ten.
fn linear_ticks([least, largest]: [f64; 2], wanted: f64) -> Vec<Tick> {
    let rough = (largest - least) / wanted;
    let mut exponent = rough.log10().floor() as i32;
    let mantissa = rough / 10f64.powi(exponent);
    let factor = if mantissa <= 1.0 {
        1.0
    } else if mantissa <= 2.0 {
        2.0
    } else if mantissa <= 5.0 {
        5.0
    } else {
        exponent += 1;
        1.0
    };
    let step = factor * 10f64.powi(exponent);
    let decimals = (-exponent).max(0) as usize;
    // A hair of tolerance, so that an end of the domain that is a multiple has its tick.
    let first = (least / step - 1e-9).ceil() as i64;
    let last = (largest / step + 1e-9).floor() as i64;
    let ticks = (first..=last).map(|number| {
        let value = number as f64 * step;
        let label = format!("{value:.decimals$}");
        Tick { value, label }
    });
    ticks.collect()
}

/// 1, 2 and 5 times powers of ten; powers of ten alone where those are too many; evenly where they are too few.
fn logarithmic_ticks(domain: [f64; 2], wanted: f64) -> Vec<Tick> {
    let [least, largest] = domain;
    let within = |value: f64| value >= least * (1.0 - 1e-9) && value <= largest * (1.0 + 1e-9);
    let first = least.log10().floor() as i32;
    let last = largest.log10().ceil() as i32;
    let of = |factors: &[i32], every: usize| -> Vec<Tick> {
        let decades = (first..=last).filter(|decade| decade.rem_euclid(every as i32) == 0);
        let all = decades.flat_map(|decade| {
            factors.iter().map(move |&factor| Tick {
                value: f64::from(factor) * 10f64.powi(decade),
                label: power_label(factor, decade),
            })
        });
        all.filter(|tick| within(tick.value)).collect()
    };
    let fine = of(&[1, 2, 5], 1);
    if fine.len() < 3 {
        return linear_ticks(domain, wanted);
    }
    if (fine.len() as f64) <= wanted * 1.5 {
        return fine;
    }
    let every = (1..).find(|&every| of(&[1], every).len() as f64 <= wanted * 1.5);
    of(&[1], every.unwrap_or(1))
}

/// `factor` times ten to the `decade`.
fn power_label(factor: i32, decade: i32) -> String {
    match decade {
        0..=5 => format!("{factor}{}", "0".repeat(decade as usize)),
        -4..=-1 => format!("0.{}{factor}", "0".repeat(-decade as usize - 1)),
        _ => format!("{factor}e{decade}"),
    }
}

/// A number as tables have it: four significant digits, without zeros at the end.
pub fn plain(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}").replace("-0", "0");
    }
    let digits = (3 - value.abs().log10().floor() as i32).clamp(0, 9) as usize;
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text
            .trim_end_matches('0')
            .trim_end_matches('.')
            .replace('-', "−"),
        false => text.replace('-', "−"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(domain: [f64; 2], logarithmic: bool, wanted: f64) -> Vec<String> {
        let scale = Scale {
            domain,
            logarithmic,
            from: 0.0,
            to: 1.0,
        };
        let ticks = scale.ticks(wanted).into_iter();
        ticks.map(|tick| tick.label).collect()
    }

    #[test]
    fn ticks_are_round_and_within() {
        assert_eq!(
            labels([0.0, 1.0], false, 5.0),
            ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
        );
        assert_eq!(labels([-3.0, 12.0], false, 3.0), ["0", "5", "10"]);
        assert_eq!(labels([0.0, 1000.0], false, 4.0), ["0", "500", "1000"]);
        assert_eq!(
            labels([0.05, 51.2], true, 9.0),
            ["0.05", "0.1", "0.2", "0.5", "1", "2", "5", "10", "20", "50"]
        );
        assert_eq!(
            labels([1e-6, 1e3], true, 4.0),
            ["1e-6", "0.0001", "0.01", "1", "100"]
        );
        // Hardly anything lies between: evenly.
        assert_eq!(labels([3.0, 4.0], true, 2.0), ["3.0", "3.5", "4.0"]);
    }

    #[test]
    fn places_by_hand() {
        let mut scale = Scale {
            domain: [1.0, 100.0],
            logarithmic: true,
            from: 0.0,
            to: 200.0,
        };
        assert!((scale.place(10.0) - 100.0).abs() < 1e-9);
        scale.logarithmic = false;
        assert!((scale.place(50.5) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn numbers_have_four_digits() {
        assert_eq!(plain(0.050_004), "0.05");
        assert_eq!(plain(1234.56), "1235");
        assert_eq!(plain(-0.123_45), "−0.1235");
        assert_eq!(plain(0.0), "0");
        assert_eq!(plain(12.0), "12");
    }
}

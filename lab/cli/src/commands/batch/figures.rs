// SPDX-License-Identifier: MIT OR Apache-2.0
//! Figures in text form.

use netnice_results::{Estimate, Subject};

/// Function that formats a figure.
pub type Words = fn(&Estimate) -> String;

/// Returns the function that formats a quantity of this unit.
pub fn words(subject: Subject, unit: &str, quantity: &str) -> Words {
    let derived = subject == Subject::Figure;
    match (unit, quantity) {
        ("bit/s", _) => rate,
        ("s", "completion") if subject == Subject::Flows => seconds,
        ("s", "completion_time" | "time_to_90_percent" | "stall_time" | "start_up") => seconds,
        ("s", _) => time,
        (_, "jain_index") => fraction,
        (_, "loss" | "lost" | "late" | "drops" | "marks" | "utilisation") => percent,
        (_, "slowdown" | "p99_slowdown" | "mos") => plain,
        _ if derived => ratio,
        _ => plain,
    }
}

/// Formats as `1.23 ± 0.04 Mb/s`.
fn scaled(value: &Estimate, scale: f64, unit: &str) -> String {
    let digits = match (value.mean / scale).abs() {
        ..9.995 => 2,
        ..99.95 => 1,
        _ => 0,
    };
    let mean = format!("{:.digits$}", value.mean / scale);
    let unit = match unit {
        "" => String::new(),
        unit => format!(" {unit}"),
    };
    match value.half_width_95 {
        Some(half_width) => format!("{mean} ± {:.digits$}{unit}", half_width / scale),
        None => format!("{mean}{unit}"),
    }
}

/// Formats a rate in bits per second.
pub fn rate(value: &Estimate) -> String {
    let (scale, unit) = match value.mean {
        999.5e6.. => (1e9, "Gb/s"),
        999.5e3.. => (1e6, "Mb/s"),
        _ => (1e3, "kb/s"),
    };
    scaled(value, scale, unit)
}

/// Formats a time in milliseconds, and from ten seconds on in seconds.
fn time(value: &Estimate) -> String {
    match value.mean {
        9.9995.. => seconds(value),
        _ => scaled(value, 1e-3, "ms"),
    }
}

/// Formats a time in seconds.
fn seconds(value: &Estimate) -> String {
    scaled(value, 1.0, "s")
}

/// Formats a share as a percentage.
fn percent(value: &Estimate) -> String {
    scaled(value, 0.01, "%")
}

/// Formats a ratio in percent: a small one with two decimals, others with one.
fn ratio(value: &Estimate) -> String {
    let digits = if value.mean.abs() < 0.1 { 2 } else { 1 };
    let mean = 100.0 * value.mean;
    match value.half_width_95 {
        Some(half_width) => format!("{mean:.digits$} ± {:.digits$} %", 100.0 * half_width),
        None => format!("{mean:.digits$} %"),
    }
}

/// Formats a number.
fn plain(value: &Estimate) -> String {
    scaled(value, 1.0, "")
}

/// Formats a number from 0 to 1.
fn fraction(value: &Estimate) -> String {
    match value.half_width_95 {
        Some(half_width) => format!("{:.3} ± {half_width:.3}", value.mean),
        None => format!("{:.3}", value.mean),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_percentages() {
        let value = Estimate::of(&[0.0233]).unwrap();
        for (subject, quantity, expected) in [
            (Subject::Calls, "lost", "2.33 %"),
            (Subject::Calls, "late", "2.33 %"),
            (Subject::Flows, "loss", "2.33 %"),
            (Subject::Figure, "loss", "2.33 %"),
            (Subject::Figure, "throughput", "2.33 %"),
            (Subject::Calls, "mos", "0.02"),
        ] {
            assert_eq!(words(subject, "", quantity)(&value), expected, "{quantity}");
        }
    }

    #[test]
    fn figures_have_three_digits_and_the_unit_of_their_size() {
        let several = Estimate::of(&[6.1e6, 6.3e6]).unwrap();
        // t with one degree of freedom is 12.706, the standard error 0.1 Mb/s.
        assert_eq!(rate(&several), "6.20 ± 1.27 Mb/s");
        let one = |value| Estimate::of(&[value]).unwrap();
        assert_eq!(rate(&one(45_600.0)), "45.6 kb/s");
        assert_eq!(time(&one(0.1234)), "123 ms");
        assert_eq!(
            (time(&one(9.999)), time(&one(12.34))),
            ("9999 ms".to_owned(), "12.3 s".to_owned())
        );
        assert_eq!(percent(&one(0.0123)), "1.23 %");
        assert_eq!(fraction(&one(0.5)), "0.500");
        assert_eq!(ratio(&one(0.0024)), "0.24 %");
        assert_eq!(ratio(&one(1.0304)), "103.0 %");
    }
}

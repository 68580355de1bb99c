// SPDX-License-Identifier: MIT OR Apache-2.0
//! Means with confidence intervals, quantiles, and Jain's index.

use serde::{Deserialize, Serialize};

/// A mean over runs with different seeds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Mean.
    pub mean: f64,
    /// Half of the 95 % confidence interval, by Student's t distribution; `None` for a single run.
    pub half_width_95: Option<f64>,
    /// Smallest value.
    pub min: f64,
    /// Largest value.
    pub max: f64,
    /// Number of values.
    pub runs: usize,
}

impl Estimate {
    /// The mean of `values` and how well it is known; `None` of none.
    pub fn of(values: &[f64]) -> Option<Estimate> {
        let runs = values.len();
        if runs == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / runs as f64;
        let half_width_95 = (runs > 1).then(|| {
            let squares = values.iter().map(|value| (value - mean).powi(2));
            let variance = squares.sum::<f64>() / (runs - 1) as f64;
            student_t_975(runs - 1) * (variance / runs as f64).sqrt()
        });
        Some(Estimate {
            mean,
            half_width_95,
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            runs,
        })
    }
}

/// The 0.975 quantile of Student's t distribution with so many degrees of freedom, at least 1.
pub fn student_t_975(degrees_of_freedom: usize) -> f64 {
    /// To three decimals, as printed in tables.
    const TABLE: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
        2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
        2.052, 2.048, 2.045, 2.042,
    ];
    match TABLE.get(degrees_of_freedom.saturating_sub(1)) {
        Some(&quantile) => quantile,
        None => {
            // Abramowitz and Stegun 26.7.5: by the quantile z of the normal distribution.
            let (z, n) = (1.959_964_f64, degrees_of_freedom as f64);
            let first = (z.powi(3) + z) / 4.0;
            let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
            z + first / n + second / (n * n)
        }
    }
}

/// Jain's fairness index (sum x)^2 / (n sum x^2): 1 where all are alike, 1/n where one has all. `None` where all are
/// zero or there are none.
pub fn jain_index(values: &[f64]) -> Option<f64> {
    let sum: f64 = values.iter().sum();
    let squares: f64 = values.iter().map(|value| value * value).sum();
    (squares > 0.0).then(|| sum * sum / (values.len() as f64 * squares))
}

/// The quantile `q` (0 to 1) of the values by the nearest-rank method; `None` of none.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (q.clamp(0.0, 1.0) * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_measured_values() {
        let values = [5.0, 1.0, 4.0, 2.0, 3.0];
        assert_eq!(quantile(&values, 0.5), Some(3.0));
        assert_eq!(quantile(&values, 0.95), Some(5.0));
        assert_eq!(quantile(&values, 0.0), Some(1.0));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn estimate_by_hand() {
        assert_eq!(Estimate::of(&[]), None);
        let one = Estimate::of(&[5.0]).unwrap();
        assert_eq!((one.mean, one.half_width_95, one.runs), (5.0, None, 1));
        // 2, 4, 6: mean 4, variance 4, standard error 2 / sqrt 3; t with 2 degrees of freedom is 4.303.
        let three = Estimate::of(&[2.0, 4.0, 6.0]).unwrap();
        assert_eq!((three.mean, three.min, three.max), (4.0, 2.0, 6.0));
        let expected = 4.303 * 2.0 / 3f64.sqrt();
        assert!((three.half_width_95.unwrap() - expected).abs() < 1e-12);
    }

    #[test]
    fn quantiles_go_on_beyond_the_table() {
        for (degrees, expected) in [
            (1, 12.706),
            (30, 2.042),
            (40, 2.021),
            (60, 2.000),
            (120, 1.980),
        ] {
            assert!(
                (student_t_975(degrees) - expected).abs() < 5e-4,
                "{degrees}"
            );
        }
    }

    #[test]
    fn jain_index_by_hand() {
        assert_eq!(jain_index(&[3.0, 3.0, 3.0]), Some(1.0));
        assert_eq!(jain_index(&[8.0, 0.0, 0.0, 0.0]), Some(0.25));
        // (1 + 3)^2 / (2 * (1 + 9)) = 16 / 20.
        assert_eq!(jain_index(&[1.0, 3.0]), Some(0.8));
        assert_eq!(jain_index(&[0.0, 0.0]), None);
        assert_eq!(jain_index(&[]), None);
    }
}

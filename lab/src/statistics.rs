// SPDX-License-Identifier: MIT OR Apache-2.0
//! Small statistics for repeated measurements.

use serde::{Deserialize, Serialize};

/// Two-sided 95 % quantiles of Student's t distribution for 1 to 30 degrees of freedom.
const STUDENT_T_975: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// Jain's fairness index of the flows' shares, 1/n (one takes all) to 1 (all equal); 1 where nobody got anything.
///
/// R. Jain, D. Chiu, W. Hawe, "A Quantitative Measure of Fairness and Discrimination", DEC-TR-301, 1984.
pub fn jain_index(shares: &[f64]) -> f64 {
    let sum: f64 = shares.iter().sum();
    let squares: f64 = shares.iter().map(|share| share * share).sum();
    if squares == 0.0 {
        1.0
    } else {
        sum * sum / (shares.len() as f64 * squares)
    }
}

/// The `quantile` (0 to 1) of the values by the nearest-rank method; `None` where there are none.
pub fn quantile(values: &[f64], quantile: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let rank = (quantile.clamp(0.0, 1.0) * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

/// A sample of repeated measurements, summed up.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Measurements.
    pub count: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Half the width of the 95 % confidence interval of the mean (Student's t): mean ± this. Zero for one measurement.
    pub confidence_95: f64,
}

impl Summary {
    /// Sums the values up; `None` where there are none.
    pub fn of(values: &[f64]) -> Option<Summary> {
        let count = values.len();
        if count == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / count as f64;
        let variance = values
            .iter()
            .map(|value| (value - mean).powi(2))
            .sum::<f64>()
            / (count.max(2) - 1) as f64;
        Some(Summary {
            count,
            mean,
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            confidence_95: match count {
                1 => 0.0,
                _ => student_t_975(count - 1) * (variance / count as f64).sqrt(),
            },
        })
    }
}

/// The 97.5 % quantile of Student's t, by table and above it by the first terms of its expansion around the normal.
fn student_t_975(degrees_of_freedom: usize) -> f64 {
    STUDENT_T_975
        .get(degrees_of_freedom - 1)
        .copied()
        .unwrap_or_else(|| {
            let (z, n) = (1.959_964_f64, degrees_of_freedom as f64);
            z + (z.powi(3) + z) / (4.0 * n)
                + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * n * n)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jain_is_one_for_equals_and_one_nth_for_a_tyrant() {
        assert_eq!(jain_index(&[3.0, 3.0, 3.0]), 1.0);
        assert_eq!(jain_index(&[1.0, 0.0, 0.0, 0.0]), 0.25);
        // (1 + 2)^2 / (2 * (1 + 4)) = 0.9
        assert_eq!(jain_index(&[1.0, 2.0]), 0.9);
        assert_eq!(jain_index(&[0.0, 0.0]), 1.0);
    }

    #[test]
    fn quantiles_are_measured_values() {
        let values = [5.0, 1.0, 4.0, 2.0, 3.0];
        assert_eq!(quantile(&values, 0.5), Some(3.0));
        assert_eq!(quantile(&values, 0.95), Some(5.0));
        assert_eq!(quantile(&values, 0.0), Some(1.0));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn five_values_by_hand() {
        // Mean 3, variance 2.5, standard error sqrt(0.5), t(4) = 2.776.
        let summary = Summary::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!(
            (summary.count, summary.mean, summary.min, summary.max),
            (5, 3.0, 1.0, 5.0)
        );
        assert!((summary.confidence_95 - 2.776 * 0.5f64.sqrt()).abs() < 1e-12);
        assert_eq!(Summary::of(&[7.0]).unwrap().confidence_95, 0.0);
        assert_eq!(Summary::of(&[]), None);
        // Tables give 2.021 for 40 degrees of freedom.
        assert!((student_t_975(40) - 2.021).abs() < 1e-3);
    }
}

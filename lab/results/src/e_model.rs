// SPDX-License-Identifier: MIT OR Apache-2.0
//! The quality of speech by the E-model (ITU-T G.107), reduced to delay and loss.
//!
//! Ro - Is is 93.2, its value with the recommendation's defaults; the advantage factor A is 0. Echo is cancelled, so that of
//! Id only Idd, too long a delay, remains.

use serde::{Deserialize, Serialize};

/// Ro - Is of equation 7-1 where all other parameters have their defaults.
const BASIC_RATING: f64 = 93.2;
/// The value of R from which nobody notices a difference (Annex B).
const BEST_RATING: f64 = 100.0;

/// A codec's impairments (ITU-T G.113 Appendix I).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Codec {
    /// Ie: equipment impairment factor without loss.
    pub ie: f64,
    /// Bpl: packet-loss robustness factor, not zero.
    pub bpl: f64,
}

/// Idd: impairment by a mouth-to-ear delay Ta, here in seconds (equations 7-27 and 7-28 with sT = 1 and mT = 100 ms, the
/// defaults).
pub fn delay_impairment(mouth_to_ear_s: f64) -> f64 {
    let ta_ms = mouth_to_ear_s * 1e3;
    if ta_ms <= 100.0 {
        return 0.0;
    }
    let x = (ta_ms / 100.0).log2();
    let root = |x: f64| (1.0 + x.powi(6)).powf(1.0 / 6.0);
    25.0 * (root(x) - 3.0 * root(x / 3.0) + 2.0)
}

/// Ie-eff: impairment by a codec and by a share `loss`, 0 to 1, of lost packets, with their burst ratio BurstR (equation
/// 7-29, in which Ppl is in percent).
pub fn equipment_impairment(codec: Codec, loss: f64, burst_ratio: f64) -> f64 {
    let ppl = loss * 100.0;
    codec.ie + (95.0 - codec.ie) * ppl / (ppl / burst_ratio + codec.bpl)
}

/// R: the rating of a call (equation 7-1), at most 93.2.
pub fn rating(codec: Codec, mouth_to_ear_s: f64, loss: f64, burst_ratio: f64) -> f64 {
    BASIC_RATING - delay_impairment(mouth_to_ear_s) - equipment_impairment(codec, loss, burst_ratio)
}

/// The mean opinion score (MOS), from 1 (bad) to 4.5, that belongs to a rating R (equation B-4; below R = 6.5 its cubic is
/// less than the least score, 1).
pub fn mean_opinion_score(r: f64) -> f64 {
    let r = r.clamp(0.0, BEST_RATING);
    (1.0 + 0.035 * r + r * (r - 60.0) * (100.0 - r) * 7e-6).max(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const G711: Codec = Codec { ie: 0.0, bpl: 25.1 };

    fn near(value: f64, expected: f64, within: f64) {
        assert!(
            (value - expected).abs() <= within,
            "{value}, not {expected}"
        );
    }

    /// Table B.1 of the recommendation; 93.2 is the default rating, of which it says 4.41.
    #[test]
    fn scores_are_those_of_the_recommendation() {
        for (r, score) in [
            (93.2, 4.41),
            (90.0, 4.34),
            (80.0, 4.03),
            (70.0, 3.60),
            (60.0, 3.10),
            (50.0, 2.58),
        ] {
            near(mean_opinion_score(r), score, 0.0065);
        }
        assert_eq!(mean_opinion_score(-1.0), 1.0);
        assert_eq!(mean_opinion_score(3.0), 1.0);
        assert_eq!(mean_opinion_score(101.0), 4.5);
    }

    #[test]
    fn delay_impairment_by_hand() {
        assert_eq!(delay_impairment(0.1), 0.0);
        // X = 1: 25 * (2^(1/6) - 3 * (1 + 3^-6)^(1/6) + 2) = 25 * (1.122462 - 3.000686 + 2).
        near(delay_impairment(0.2), 3.0444, 1e-3);
        // X = 2: 25 * (65^(1/6) - 3 * (1 + (2/3)^6)^(1/6) + 2) = 25 * (2.005175 - 3.042371 + 2).
        near(delay_impairment(0.4), 24.0701, 1e-3);
    }

    #[test]
    fn loss_impairment_by_hand() {
        assert_eq!(equipment_impairment(G711, 0.0, 1.0), 0.0);
        // 95 * 1 / (1 + 25.1), and in bursts 95 * 2 / (2 / 2 + 25.1).
        near(equipment_impairment(G711, 0.01, 1.0), 3.6398, 1e-4);
        near(equipment_impairment(G711, 0.02, 2.0), 7.2797, 1e-4);
        // G.729A: 11 + 84 * 2 / (2 + 19).
        let g729a = Codec {
            ie: 11.0,
            bpl: 19.0,
        };
        near(equipment_impairment(g729a, 0.02, 1.0), 19.0, 1e-12);
    }

    #[test]
    fn a_rating_by_hand() {
        near(rating(G711, 0.1, 0.0, 1.0), 93.2, 1e-12);
        // 93.2 - 3.0444 - 3.6398.
        near(rating(G711, 0.2, 0.01, 1.0), 86.5158, 1e-3);
    }
}

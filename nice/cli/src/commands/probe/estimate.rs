// SPDX-License-Identifier: MIT OR Apache-2.0
//! Statistics of a probe, computed from samples of its connection: no I/O, no clock.

use std::time::Duration;

use netnice_measure::{Estimate, quantile, student_t_975};

/// Width of a bin, over which the rate is averaged.
const BIN: Duration = Duration::from_secs(1);

/// State of the connection at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample {
    /// Time since the connection was opened.
    pub at: Duration,
    /// Bytes of data received until then.
    pub bytes: u64,
    /// True if the connection had given way to others.
    pub gave_way: bool,
    /// Delay of the data over the smallest known one.
    pub queueing_delay: Duration,
}

/// Samples of a connection, in the order of time.
#[derive(Debug, Clone, Default)]
pub struct Trace {
    /// Time from the opening of the connection to the response's first byte, where the first bin begins.
    pub begins: Duration,
    /// Samples; those before `begins` do not count.
    pub samples: Vec<Sample>,
}

/// Rate that others left, in bits of TCP payload per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SpareRate {
    /// Mean over the bins; over the whole time where there is no complete bin.
    pub mean: f64,
    /// Half of the 95 % interval by Student's t distribution; `None` with fewer than two bins.
    pub half_width_95: Option<f64>,
    /// Number of complete bins.
    pub bins: usize,
}

impl Trace {
    fn measured(&self) -> &[Sample] {
        let first = self.samples.partition_point(|one| one.at < self.begins);
        &self.samples[first..]
    }

    /// Returns the number of bytes received by a time between the first and the last sample, interpolated.
    fn bytes_at(&self, at: Duration) -> Option<f64> {
        let after = self.samples.partition_point(|one| one.at < at);
        let next = self.samples.get(after)?;
        let Some(previous) = after.checked_sub(1).map(|index| self.samples[index]) else {
            // Nothing had arrived when the connection was opened.
            return Some(if next.at == at {
                next.bytes as f64
            } else {
                0.0
            });
        };
        let part = (at - previous.at).as_secs_f64() / (next.at - previous.at).as_secs_f64();
        Some(previous.bytes as f64 + part * (next.bytes as f64 - previous.bytes as f64))
    }

    /// Returns the rate in each complete bin, in bits per second.
    pub fn bin_rates(&self) -> Vec<f64> {
        let edges = (0u32..).map_while(|number| self.bytes_at(self.begins + number * BIN));
        let edges: Vec<f64> = edges.collect();
        let bits = |pair: &[f64]| 8.0 * (pair[1] - pair[0]) / BIN.as_secs_f64();
        edges.windows(2).map(bits).collect()
    }

    /// Returns the mean rate with its interval; `None` if nothing was measured.
    pub fn spare_rate(&self) -> Option<SpareRate> {
        let rates = self.bin_rates();
        if let Some(estimate) = Estimate::of(&rates) {
            return Some(SpareRate {
                mean: estimate.mean,
                half_width_95: estimate.half_width_95,
                bins: rates.len(),
            });
        }
        let last = self.measured().last()?;
        let seconds = last.at.saturating_sub(self.begins).as_secs_f64();
        let bytes = last.bytes as f64 - self.bytes_at(self.begins)?;
        (seconds > 0.0).then(|| SpareRate {
            mean: 8.0 * bytes / seconds,
            half_width_95: None,
            bins: 0,
        })
    }

    /// Returns the share of the time, from 0 to 1, in which the connection had given way to others.
    pub fn yielded_share(&self) -> Option<f64> {
        let measured = self.measured();
        let whole = measured.last()?.at - measured[0].at;
        let yielded = measured.windows(2).filter(|pair| pair[0].gave_way);
        let yielded: Duration = yielded.map(|pair| pair[1].at - pair[0].at).sum();
        (!whole.is_zero()).then(|| yielded.as_secs_f64() / whole.as_secs_f64())
    }

    /// Returns the quantile `q`, from 0 to 1, of the queueing delay over the samples.
    pub fn queueing_delay(&self, q: f64) -> Option<Duration> {
        let seconds = self.measured().iter();
        let seconds: Vec<f64> = seconds
            .map(|one| one.queueing_delay.as_secs_f64())
            .collect();
        quantile(&seconds, q).map(Duration::from_secs_f64)
    }
}

impl SpareRate {
    /// Returns the bounds of the 95 % interval; no rate is below 0.
    pub fn interval(&self) -> Option<(f64, f64)> {
        let half = self.half_width_95?;
        Some(((self.mean - half).max(0.0), self.mean + half))
    }

    /// Returns true if the bins do not tell two rates apart: by Welch's t test, at the level of 5 %.
    fn ties_with(&self, other: &SpareRate) -> bool {
        let squared_error = |rate: &SpareRate| {
            let degrees = rate.bins.checked_sub(1)?;
            Some((
                (rate.half_width_95? / student_t_975(degrees)).powi(2),
                degrees,
            ))
        };
        let (Some((first, n)), Some((second, m))) = (squared_error(self), squared_error(other))
        else {
            // Without an interval all are tied.
            return true;
        };
        let both = first + second;
        if both == 0.0 {
            return self.mean == other.mean;
        }
        // Welch and Satterthwaite's degrees of freedom, rounded down.
        let degrees = both.powi(2) / (first.powi(2) / n as f64 + second.powi(2) / m as f64);
        let difference = (self.mean - other.mean).abs();
        difference <= student_t_975((degrees as usize).max(1)) * both.sqrt()
    }
}

/// Place of a probe in the ranking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ranked {
    /// Index of the probe.
    pub index: usize,
    /// Place, from 1 on. Those that tie share it, and the next place is as much larger.
    pub place: usize,
    /// True if others share the place.
    pub tied: bool,
}

/// Ranks by rate, the highest first. Those that the bins do not tell apart from the highest of a place share that place.
pub fn rank(rates: &[Option<SpareRate>]) -> Vec<Ranked> {
    let mut order: Vec<(usize, SpareRate)> = rates
        .iter()
        .enumerate()
        .filter_map(|(index, rate)| Some((index, (*rate)?)))
        .collect();
    order.sort_by(|(_, one), (_, other)| other.mean.total_cmp(&one.mean));
    let mut ranked: Vec<Ranked> = Vec::new();
    let mut leader: Option<(usize, SpareRate)> = None;
    for (above, (index, rate)) in order.into_iter().enumerate() {
        let ties = leader.filter(|(_, first)| first.ties_with(&rate));
        let (place, tied) = match ties {
            Some((place, _)) => {
                ranked[place - 1].tied = true;
                (place, true)
            }
            None => {
                leader = Some((above + 1, rate));
                (above + 1, false)
            }
        };
        ranked.push(Ranked { index, place, tied });
    }
    ranked
}

/// Time that a file takes: time to the first byte, and the rest at the spare rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FileTime {
    /// In seconds, at the mean rate.
    pub mean: f64,
    /// In seconds, at the upper bound of the rate's interval.
    pub shortest: Option<f64>,
    /// In seconds, at the lower bound; `None` also if that is 0.
    pub longest: Option<f64>,
}

/// Returns the time that a file of so many bytes takes; `None` at the rate 0.
pub fn file_time(rate: &SpareRate, first_byte: Duration, bytes: u64) -> Option<FileTime> {
    let at = |rate: f64| (rate > 0.0).then(|| first_byte.as_secs_f64() + 8.0 * bytes as f64 / rate);
    let interval = rate.interval();
    Some(FileTime {
        mean: at(rate.mean)?,
        shortest: interval.and_then(|(_, high)| at(high)),
        longest: interval.and_then(|(low, _)| at(low)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(milliseconds: u64, bytes: u64) -> Sample {
        Sample {
            at: Duration::from_millis(milliseconds),
            bytes,
            gave_way: false,
            queueing_delay: Duration::ZERO,
        }
    }

    fn trace(begins_ms: u64, samples: &[(u64, u64)]) -> Trace {
        Trace {
            begins: Duration::from_millis(begins_ms),
            samples: samples
                .iter()
                .map(|(at, bytes)| sample(*at, *bytes))
                .collect(),
        }
    }

    fn rate(mean: f64, half_width_95: f64, bins: usize) -> Option<SpareRate> {
        Some(SpareRate {
            mean,
            half_width_95: Some(half_width_95),
            bins,
        })
    }

    #[test]
    fn rates_of_bins_by_hand() {
        // From 0.5 s on: 1000 bytes until 1.5 s, halfway between two samples, then 3000 until 2.5 s. The last 0.2 s are no bin.
        let trace = trace(
            500,
            &[
                (0, 0),
                (500, 100),
                (1000, 600),
                (2000, 1600),
                (2500, 4100),
                (2700, 9000),
            ],
        );
        assert_eq!(trace.bin_rates(), [8000.0, 24_000.0]);
        let rate = trace.spare_rate().unwrap();
        assert_eq!((rate.mean, rate.bins), (16_000.0, 2));
        // Standard deviation 8000 * sqrt 2, so that the standard error is 8000; t with 1 degree of freedom is 12.706.
        let half = rate.half_width_95.unwrap();
        assert!((half - 12.706 * 8000.0).abs() < 1e-6, "{half}");
        // The interval would begin below 0.
        assert_eq!(rate.interval().unwrap().0, 0.0);
    }

    #[test]
    fn without_a_whole_bin_there_is_no_interval() {
        let rate = trace(100, &[(0, 0), (100, 0), (350, 2500), (600, 5000)])
            .spare_rate()
            .unwrap();
        // 5000 bytes in half a second.
        assert_eq!((rate.mean, rate.bins), (80_000.0, 0));
        assert_eq!(rate.interval(), None);
        assert_eq!(trace(0, &[]).spare_rate(), None);
        assert_eq!(trace(100, &[(0, 0), (100, 7)]).spare_rate(), None);
    }

    #[test]
    fn a_connection_that_stalls_has_the_rate_zero() {
        let rate = trace(0, &[(0, 0), (1000, 0), (2000, 0), (3000, 0)])
            .spare_rate()
            .unwrap();
        assert_eq!((rate.mean, rate.half_width_95), (0.0, Some(0.0)));
        assert_eq!(file_time(&rate, Duration::ZERO, 1000), None);
    }

    #[test]
    fn yielded_time_is_weighted_by_its_length() {
        let mut trace = trace(100, &[(0, 0), (100, 0), (200, 1), (500, 1), (1100, 2)]);
        // Before the first byte, which does not count; then for 0.3 s out of 1 s.
        trace.samples[0].gave_way = true;
        trace.samples[2].gave_way = true;
        let share = trace.yielded_share().unwrap();
        assert!((share - 0.3).abs() < 1e-12, "{share}");
        assert_eq!(Trace::default().yielded_share(), None);
    }

    #[test]
    fn delays_are_quantiles_over_the_samples() {
        let mut trace = trace(10, &[(0, 0), (10, 0), (20, 0), (30, 0), (40, 0)]);
        for (sample, delay) in trace.samples.iter_mut().zip([99, 4, 1, 3, 2]) {
            sample.queueing_delay = Duration::from_millis(delay);
        }
        assert_eq!(trace.queueing_delay(0.5), Some(Duration::from_millis(2)));
        assert_eq!(trace.queueing_delay(0.95), Some(Duration::from_millis(4)));
        assert_eq!(Trace::default().queueing_delay(0.5), None);
    }

    #[test]
    fn ranking_with_ties_by_hand() {
        // Ten bins each, t with 9 degrees of freedom being 2.262: half a width of 2.262 is a standard error of 1. The difference
        // of two such has the error sqrt 2 and 18 degrees of freedom: it is significant from 2.101 * 1.414 = 2.971 on.
        let half = 2.262;
        let rates = [
            rate(10.0, half, 10),
            rate(14.0, half, 10),
            None,
            rate(11.1, half, 10),
            rate(11.0, half, 10),
        ];
        let ranked: Vec<_> = rank(&rates)
            .iter()
            .map(|one| (one.index, one.place, one.tied))
            .collect();
        // 14 leads 11.1 by 2.9, which is no difference, and 11 by 3, which is one.
        assert_eq!(
            ranked,
            [(1, 1, true), (3, 1, true), (4, 3, true), (0, 3, true)]
        );
        assert!(rank(&[None]).is_empty());
    }

    #[test]
    fn clear_differences_are_no_ties() {
        let rates = [rate(5.0, 0.5, 10), rate(50.0, 1.0, 10), rate(20.0, 2.0, 4)];
        let ranked: Vec<_> = rank(&rates)
            .iter()
            .map(|one| (one.index, one.place, one.tied))
            .collect();
        assert_eq!(ranked, [(1, 1, false), (2, 2, false), (0, 3, false)]);
    }

    #[test]
    fn without_intervals_all_tie() {
        let short = |mean| {
            Some(SpareRate {
                mean,
                half_width_95: None,
                bins: 1,
            })
        };
        let ranked = rank(&[short(1.0), short(9.0)]);
        assert!(ranked.iter().all(|one| one.place == 1 && one.tied));
        assert_eq!(ranked[0].index, 1);
        // Rates without any spread tie only if they are equal.
        let ranked = rank(&[rate(1.0, 0.0, 5), rate(9.0, 0.0, 5), rate(9.0, 0.0, 5)]);
        let places: Vec<_> = ranked.iter().map(|one| one.place).collect();
        assert_eq!(places, [1, 1, 3]);
    }

    #[test]
    fn time_of_a_file_by_hand() {
        // 1 MB is 8 Mb: 1 s at 8 Mb/s, 0.8 s at 10, 1.333 s at 6; and 0.1 s until the first byte.
        let time = file_time(
            &rate(8e6, 2e6, 10).unwrap(),
            Duration::from_millis(100),
            1_000_000,
        )
        .unwrap();
        assert!((time.mean - 1.1).abs() < 1e-9);
        assert!((time.shortest.unwrap() - 0.9).abs() < 1e-9);
        assert!((time.longest.unwrap() - (0.1 + 8.0 / 6.0)).abs() < 1e-9);
        let wide = file_time(&rate(8e6, 9e6, 10).unwrap(), Duration::ZERO, 1_000_000).unwrap();
        assert_eq!(wide.longest, None);
    }
}

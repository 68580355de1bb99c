// SPDX-License-Identifier: MIT OR Apache-2.0
//! Response times of web objects by their size, and of their pages.

use std::collections::BTreeMap;

use netnice_results::{self as results, PageTimes, SizeBin, SizeClass, Slowdown};

use super::Histogram;

/// Response times, in bins of object sizes: two for each doubling.
#[derive(Debug, Clone, Default)]
pub struct ResponseTimes {
    bins: BTreeMap<u32, (u64, Histogram)>,
    /// Transfers of all sizes, then each class of sizes; empty where classes are not measured.
    classes: Vec<Class>,
    /// Objects requested that have not arrived yet.
    unfinished: u64,
    /// `None` where pages are not measured.
    pages: Option<Pages>,
}

/// Pages.
#[derive(Debug, Clone, Default)]
struct Pages {
    /// Those begun that are not complete yet.
    unfinished: u64,
    /// From the first request to the last byte of the last object, in nanoseconds.
    load: Histogram,
}

/// A class of sizes.
#[derive(Debug, Clone, Default)]
struct Class {
    /// Sizes are above this and up to that, in bytes.
    above: u64,
    to: Option<u64>,
    /// Sum of the sizes, in bytes.
    sum: u64,
    /// Transfers begun that have not come to their end.
    unfinished: u64,
    /// Completion times in nanoseconds.
    completion: Histogram,
    /// Slowdowns in millionths.
    slowdown: Histogram,
}

/// Histograms count whole numbers.
const MILLIONTHS: f64 = 1e6;

/// One bin.
#[derive(Debug, Clone, Copy)]
pub struct ResponseBin<'a> {
    /// Smallest size, in bytes.
    pub from_bytes: u64,
    /// Sizes are below this, in bytes.
    pub to_bytes: u64,
    /// Mean size of the objects that have arrived, in bytes.
    pub mean_bytes: f64,
    /// Response times in nanoseconds.
    pub nanoseconds: &'a Histogram,
}

/// The first size of a bin: 2 to the power of half its number, rounded up.
fn first_size(bin: u32) -> u64 {
    (f64::from(bin) / 2.0).exp2().ceil() as u64
}

/// The bin of a size, which is at least 1.
fn bin(bytes: u64) -> u32 {
    let even = bytes.ilog2() * 2;
    even + u32::from(bytes >= first_size(even + 1))
}

impl ResponseTimes {
    /// Also measures all transfers together, and classes between these sizes in bytes, which are in ascending order.
    pub fn in_classes(bounds: &[u64]) -> ResponseTimes {
        let class = |above, to| Class {
            above,
            to,
            ..Class::default()
        };
        let mut classes = vec![class(0, None)];
        if let Some(&last) = bounds.last() {
            let lows = std::iter::once(0).chain(bounds.iter().copied());
            let between = lows.zip(bounds);
            classes.extend(between.map(|(above, &to)| class(above, Some(to))));
            classes.push(class(last, None));
        }
        ResponseTimes {
            classes,
            ..ResponseTimes::default()
        }
    }

    /// Also measures pages.
    pub fn with_pages() -> ResponseTimes {
        ResponseTimes {
            pages: Some(Pages::default()),
            ..ResponseTimes::default()
        }
    }

    /// The first object of a page was asked for.
    pub fn page_begins(&mut self) {
        if let Some(pages) = &mut self.pages {
            pages.unfinished += 1;
        }
    }

    /// The last object of a page has come, so many nanoseconds after the first was asked for; `None` for a page that is not
    /// measured.
    pub fn page_ends(&mut self, nanoseconds: Option<u64>) {
        if let Some(pages) = &mut self.pages {
            pages.unfinished -= 1;
            if let Some(nanoseconds) = nanoseconds {
                pages.load.record(nanoseconds);
            }
        }
    }

    /// An object of `bytes` was asked for.
    pub fn object_begins(&mut self, bytes: u64) {
        self.unfinished += 1;
        for class in self.classes.iter_mut().filter(|class| class.has(bytes)) {
            class.unfinished += 1;
        }
    }

    /// An object of `bytes` that was asked for has come; whether it is measured is up to [`ResponseTimes::record`].
    pub fn object_ends(&mut self, bytes: u64) {
        self.unfinished -= 1;
        for class in self.classes.iter_mut().filter(|class| class.has(bytes)) {
            class.unfinished -= 1;
        }
    }

    /// An object of `bytes` has come after `nanoseconds`, which with nobody else on the path would have been `unloaded`.
    pub fn record(&mut self, bytes: u64, nanoseconds: u64, unloaded: Option<u64>) {
        let (sum, times) = self.bins.entry(bin(bytes.max(1))).or_default();
        *sum += bytes;
        times.record(nanoseconds);
        let slowdown =
            unloaded.map(|unloaded| nanoseconds as f64 / unloaded.max(1) as f64 * MILLIONTHS);
        for class in self.classes.iter_mut().filter(|class| class.has(bytes)) {
            class.sum += bytes;
            class.completion.record(nanoseconds);
            if let Some(slowdown) = slowdown {
                class.slowdown.record(slowdown.round() as u64);
            }
        }
    }

    /// Objects requested that have not arrived yet.
    pub fn unfinished(&self) -> u64 {
        self.unfinished
    }

    /// The bins with objects, from small to large.
    pub fn bins(&self) -> impl Iterator<Item = ResponseBin<'_>> {
        self.bins.iter().map(|(&bin, (sum, times))| ResponseBin {
            from_bytes: first_size(bin),
            to_bytes: first_size(bin + 1),
            mean_bytes: *sum as f64 / times.count() as f64,
            nanoseconds: times,
        })
    }
}

impl Class {
    /// Returns true if transfers of so many bytes belong to it.
    fn has(&self, bytes: u64) -> bool {
        bytes > self.above && self.to.is_none_or(|to| bytes <= to)
    }

    fn results(&self) -> SizeClass {
        let times = self.completion.delays();
        let quantile = |q| self.slowdown.quantile(q).unwrap_or(0.0) / MILLIONTHS;
        SizeClass {
            above_bytes: self.above,
            to_bytes: self.to,
            mean_bytes: match times.count {
                0 => 0.0,
                count => self.sum as f64 / count as f64,
            },
            unfinished: self.unfinished,
            completion: times,
            completion_times: self.completion.distribution(),
            slowdown: Slowdown {
                min: self.slowdown.min().unwrap_or(0) as f64 / MILLIONTHS,
                mean: self.slowdown.mean().unwrap_or(0.0) / MILLIONTHS,
                p50: quantile(0.5),
                p95: quantile(0.95),
                p99: quantile(0.99),
                max: self.slowdown.max().unwrap_or(0) as f64 / MILLIONTHS,
            },
        }
    }
}

impl ResponseTimes {
    /// As results of the flow called `flow`.
    pub fn results(&self, flow: &str) -> results::ResponseTimes {
        let bins = self.bins().map(|bin| SizeBin {
            from_bytes: bin.from_bytes,
            to_bytes: bin.to_bytes,
            mean_bytes: bin.mean_bytes,
            response: bin.nanoseconds.delays(),
        });
        results::ResponseTimes {
            flow: flow.to_owned(),
            unfinished: self.unfinished,
            bins: bins.collect(),
            classes: self.classes.iter().map(Class::results).collect(),
            pages: self.pages.as_ref().map(|pages| PageTimes {
                unfinished: pages.unfinished,
                load: pages.load.delays(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_is_within_its_bin() {
        for bytes in (1..5000).chain([1 << 20, 1_482_911, 1 << 40]) {
            let bin = bin(bytes);
            assert!(
                (first_size(bin)..first_size(bin + 1)).contains(&bytes),
                "{bytes} in {bin}"
            );
        }
    }

    #[test]
    fn a_bin_knows_its_means() {
        let mut responses = ResponseTimes::default();
        responses.record(1100, 3_000_000, None);
        responses.record(1300, 5_000_000, None);
        responses.record(1500, 9_000_000, None);
        let bins: Vec<_> = responses
            .bins()
            .map(|bin| (bin.from_bytes, bin.to_bytes, bin.mean_bytes))
            .collect();
        assert_eq!(bins, [(1024, 1449, 1200.0), (1449, 2048, 1500.0)]);
        assert_eq!(
            responses.bins().next().unwrap().nanoseconds.mean(),
            Some(4_000_000.0)
        );
    }

    #[test]
    fn classes_divide_the_sizes() {
        let mut responses = ResponseTimes::in_classes(&[1000, 5000]);
        // (bytes, milliseconds, slowdown)
        for (bytes, milliseconds, slowdown) in
            [(1000, 3, 1), (1001, 8, 2), (5000, 4, 4), (6000, 5, 5)]
        {
            responses.object_begins(bytes);
            responses.object_ends(bytes);
            let taken = milliseconds * 1_000_000;
            responses.record(bytes, taken, Some(taken / slowdown));
        }
        for bytes in [900, 5001, 5002] {
            responses.object_begins(bytes);
        }
        let results = responses.results("f");
        assert_eq!(results.unfinished, 3);
        let classes = results.classes;
        let unfinished: Vec<u64> = classes.iter().map(|class| class.unfinished).collect();
        assert_eq!(unfinished, [3, 1, 0, 2]);
        let words: Vec<String> = classes.iter().map(SizeClass::words).collect();
        assert_eq!(words, ["all sizes", "up to 1kB", "1kB to 5kB", "above 5kB"]);
        let counts: Vec<u64> = classes.iter().map(|class| class.completion.count).collect();
        assert_eq!(counts, [4, 1, 2, 1]);
        assert_eq!(
            (classes[2].mean_bytes, classes[2].slowdown.mean),
            (3000.5, 3.0)
        );
        assert_eq!(
            (classes[0].slowdown.max, classes[0].completion.mean_s),
            (5.0, 0.005)
        );
    }
}

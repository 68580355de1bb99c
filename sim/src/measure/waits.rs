// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting times of packets.

use crate::prefetch::prefetch;

use super::Histogram;

/// So many waiting times are kept before they are counted: with the rest they fill a cache line.
const NEWEST: usize = 13;

/// A histogram of waiting times in nanoseconds, of which the newest are not yet counted.
///
/// With a hundred thousand links each of them finds its histogram in memory, and there one place leads to the next. So what
/// every packet that has waited needs is a single cache line, and the histogram is looked at for many of them at once.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Waits {
    newest: [u32; NEWEST],
    /// The number of waiting times in `newest`.
    count: u8,
    /// They are counted at all.
    measured: bool,
    counted: Option<Box<Histogram>>,
}

const _: () = assert!(size_of::<Waits>() == 64);

impl Waits {
    /// None so far; if not `measured`, none at all.
    pub fn new(measured: bool) -> Waits {
        Waits {
            newest: [0; NEWEST],
            count: 0,
            measured,
            counted: None,
        }
    }

    /// They are counted.
    pub fn measured(&self) -> bool {
        self.measured
    }

    /// Begins to fetch what the next waiting time needs.
    #[inline(always)]
    pub fn prefetch(&self) {
        prefetch(self, 1);
    }

    /// Counts a waiting time.
    #[inline(always)]
    pub fn record(&mut self, nanoseconds: u64) {
        if !self.measured {
            return;
        }
        let Ok(short) = u32::try_from(nanoseconds) else {
            return self.record_long(nanoseconds);
        };
        if let Some(place) = self.newest.get_mut(usize::from(self.count)) {
            *place = short;
        }
        self.count += 1;
        if usize::from(self.count) == NEWEST {
            self.count_newest();
        }
    }

    #[cold]
    fn record_long(&mut self, nanoseconds: u64) {
        self.counted.get_or_insert_default().record(nanoseconds);
    }

    #[inline(never)]
    fn count_newest(&mut self) {
        let counted = self.counted.get_or_insert_default();
        for &nanoseconds in &self.newest {
            counted.record(nanoseconds.into());
        }
        self.count = 0;
    }

    /// All waiting times, as a histogram.
    pub fn histogram(&self) -> Histogram {
        let mut all = self.counted.as_deref().cloned().unwrap_or_default();
        for &nanoseconds in &self.newest[..usize::from(self.count)] {
            all.record(nanoseconds.into());
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn as_a_histogram(nanoseconds in prop::collection::vec((0u64..1 << 20, 0u32..20), 0..60)) {
            let mut waits = Waits::new(true);
            let mut none = Waits::new(false);
            let mut histogram = Histogram::default();
            for (nanoseconds, scale) in nanoseconds {
                // From nanoseconds to minutes.
                let nanoseconds = nanoseconds << scale;
                waits.record(nanoseconds);
                none.record(nanoseconds);
                histogram.record(nanoseconds);
                prop_assert_eq!(waits.histogram().delays(), histogram.delays());
            }
            prop_assert_eq!(none.histogram().count(), 0);
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting times of packets.

use crate::tcp::prefetch::prefetch;

use super::Histogram;

/// So many waiting times are kept before they are counted: with the rest they fill a cache line.
const NEWEST: usize = 13;

/// A histogram of waiting times in nanoseconds, of which the newest are not yet counted.
///
/// With a hundred thousand links each of them finds its histogram in memory, and there one place leads to the next. So what
/// every packet that has waited needs is a single cache line, and the histogram is looked at for many of them at once.
#[derive(Debug, Default)]
#[repr(C, align(64))]
struct Waits {
    newest: [u32; NEWEST],
    /// The number of waiting times in `newest`.
    count: u8,
    counted: Option<Box<Histogram>>,
}

const _: () = assert!(size_of::<Waits>() == 64);

/// In place of a place: no packet has had to wait.
const NONE_YET: u32 = u32::MAX - 1;
/// Waiting times of the link are not counted.
const UNMEASURED: u32 = u32::MAX;

/// Waiting times of packets that had to wait, by link. On most of a hundred thousand links no packet ever waits, so only
/// those where one does have a cache line of their own.
#[derive(Debug, Default)]
pub(crate) struct LinkWaits {
    /// Where in `all` a link's waiting times are.
    places: Vec<u32>,
    all: Vec<Waits>,
}

impl LinkWaits {
    /// Room for so many links.
    pub fn with_capacity(links: usize) -> LinkWaits {
        LinkWaits {
            places: Vec::with_capacity(links),
            all: Vec::new(),
        }
    }

    /// Adds a link without waiting times; if not `measured`, it never has any.
    pub fn add_link(&mut self, measured: bool) {
        self.places
            .push(if measured { NONE_YET } else { UNMEASURED });
    }

    /// Begins to fetch what the next waiting time of a link needs.
    #[inline(always)]
    pub fn prefetch(&self, link: usize) {
        if let Some(waits) = self.all.get(self.places[link] as usize) {
            prefetch(waits, 1);
        }
    }

    /// Counts a waiting time, in nanoseconds.
    #[inline(always)]
    pub fn record(&mut self, link: usize, nanoseconds: u64) {
        match self.all.get_mut(self.places[link] as usize) {
            Some(waits) => waits.record(nanoseconds),
            None => self.record_first(link, nanoseconds),
        }
    }

    #[cold]
    fn record_first(&mut self, link: usize, nanoseconds: u64) {
        if self.places[link] == UNMEASURED {
            return;
        }
        self.places[link] = self.all.len() as u32;
        self.all.push(Waits::default());
        self.record(link, nanoseconds);
    }

    /// All waiting times of a link; `None` where they are not counted.
    pub fn histogram(&self, link: usize) -> Option<Histogram> {
        let place = self.places[link];
        let waits = self.all.get(place as usize);
        (place != UNMEASURED).then(|| waits.map_or_else(Histogram::default, Waits::histogram))
    }

    /// Discards all waiting times.
    pub fn clear(&mut self) {
        self.all.clear();
        for place in self.places.iter_mut().filter(|place| **place != UNMEASURED) {
            *place = NONE_YET;
        }
    }
}

impl Waits {
    /// Counts a waiting time.
    #[inline(always)]
    fn record(&mut self, nanoseconds: u64) {
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
    fn histogram(&self) -> Histogram {
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
            let mut waits = LinkWaits::default();
            for measured in [true, false, true] {
                waits.add_link(measured);
            }
            let mut histogram = Histogram::default();
            for (nanoseconds, scale) in nanoseconds {
                // From nanoseconds to minutes.
                let nanoseconds = nanoseconds << scale;
                waits.record(2, nanoseconds);
                waits.record(1, nanoseconds);
                histogram.record(nanoseconds);
                prop_assert_eq!(waits.histogram(2).unwrap().delays(), histogram.delays());
            }
            prop_assert!(waits.histogram(1).is_none());
            prop_assert_eq!(waits.histogram(0).unwrap().count(), 0);
            waits.clear();
            prop_assert_eq!(waits.histogram(2).unwrap().count(), 0);
            prop_assert!(waits.histogram(1).is_none());
            waits.record(0, 7);
            prop_assert_eq!(waits.histogram(0).unwrap().max(), Some(7));
            prop_assert_eq!(waits.histogram(2).unwrap().count(), 0);
        }
    }
}

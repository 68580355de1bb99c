// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long packets take to send, without a division for each.

use std::num::NonZeroU64;

use netnice_queue::Rate;

/// The time that a length takes: whole nanoseconds, and the rest in units of one nanosecond divided by the rate.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Transmission {
    length: u64,
    nanoseconds: u64,
    remainder: u64,
}

/// Transmission times at one rate. Links carry packets of few lengths, data and ACKs above all: the times of the two
/// used last are kept. The owner keeps the length used last and the time before the last: the first has to be in the
/// cache, the second not, since most links carry one length only.
#[derive(Debug, Clone)]
pub(crate) struct Transmissions {
    /// `NonZeroU64::MAX` if sending takes no time.
    bits_per_second: NonZeroU64,
    nanoseconds: u64,
    remainder: u64,
}

impl Transmissions {
    /// The times at `rate`; without one, sending takes no time.
    pub(crate) fn new(rate: Option<Rate>) -> Transmissions {
        let rate = rate.and_then(|rate| NonZeroU64::new(rate.bits_per_second()));
        Transmissions {
            bits_per_second: rate.unwrap_or(NonZeroU64::MAX),
            nanoseconds: 0,
            remainder: 0,
        }
    }

    /// Nanoseconds until a packet of the length found last is sent, rounded down. `remainder` keeps the fraction for
    /// the next packet, so that a backlogged link drifts by no nanosecond.
    #[inline]
    pub(crate) fn take(&self, remainder: &mut u64) -> u64 {
        let mut nanoseconds = self.nanoseconds;
        // Both are below the rate, so the sum is below twice that.
        *remainder += self.remainder;
        if *remainder >= self.bits_per_second.get() {
            *remainder -= self.bits_per_second.get();
            nanoseconds += 1;
        }
        nanoseconds
    }

    /// Switches to packets of `length` bytes from those of `last`.
    #[inline]
    pub(crate) fn find(&mut self, length: u64, last: &mut u32, before: &mut Transmission) {
        let found = if length == before.length {
            *before
        } else if self.bits_per_second == NonZeroU64::MAX {
            Transmission {
                length,
                ..Transmission::default()
            }
        } else {
            let scaled = length * 8 * 1_000_000_000;
            Transmission {
                length,
                nanoseconds: scaled / self.bits_per_second,
                remainder: scaled % self.bits_per_second,
            }
        };
        *before = Transmission {
            length: u64::from(*last),
            nanoseconds: self.nanoseconds,
            remainder: self.remainder,
        };
        *last = length as u32;
        (self.nanoseconds, self.remainder) = (found.nanoseconds, found.remainder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_sum_is_that_of_one_division(
            rate in 1u64..=Rate::MAX.bits_per_second(),
            lengths in prop::collection::vec(prop_oneof![Just(40u64), Just(1000), Just(1500), 0u64..=65_535], 1..100),
        ) {
            let mut transmissions = Transmissions::new(Rate::from_bits_per_second(rate).ok());
            let (mut last, mut before) = (0, Transmission::default());
            let (mut remainder, mut nanoseconds, mut bytes) = (0, 0u128, 0u128);
            for length in lengths {
                if length != u64::from(last) {
                    transmissions.find(length, &mut last, &mut before);
                }
                nanoseconds += u128::from(transmissions.take(&mut remainder));
                bytes += u128::from(length);
                prop_assert_eq!(nanoseconds, bytes * 8_000_000_000 / u128::from(rate));
                prop_assert_eq!(u128::from(remainder), bytes * 8_000_000_000 % u128::from(rate));
            }
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! How long packets take to send, without a division for each.

use std::num::NonZeroU64;

use crate::Rate;

/// The time that a length takes: whole nanoseconds, and the rest in units of one nanosecond divided by the rate.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Transmission {
    length: u64,
    nanoseconds: u64,
    remainder: u64,
}

/// Times to send at one rate. Links carry packets of few lengths, data and ACKs above all: the two used last are kept.
/// The one before the last is kept elsewhere by whoever holds this, since most links carry one length only.
#[derive(Debug, Clone)]
pub(crate) struct Transmissions {
    bits_per_second: NonZeroU64,
    last: Transmission,
}

impl Transmissions {
    /// `None` for a rate of zero, which there is none of.
    pub(crate) fn new(rate: Rate) -> Option<Transmissions> {
        Some(Transmissions {
            bits_per_second: NonZeroU64::new(rate.bits_per_second())?,
            last: Transmission::default(),
        })
    }

    /// Nanoseconds until `length` bytes more are sent, rounded down. What is rounded off is kept in `remainder` for the
    /// next packet, so that a backlogged link drifts by no nanosecond.
    #[inline]
    pub(crate) fn take(
        &mut self,
        length: u64,
        remainder: &mut u64,
        before: &mut Transmission,
    ) -> u64 {
        if length != self.last.length {
            self.find(length, before);
        }
        let mut nanoseconds = self.last.nanoseconds;
        // Both are below the rate, so the sum is below twice that.
        *remainder += self.last.remainder;
        if *remainder >= self.bits_per_second.get() {
            *remainder -= self.bits_per_second.get();
            nanoseconds += 1;
        }
        nanoseconds
    }

    #[inline]
    fn find(&mut self, length: u64, before: &mut Transmission) {
        std::mem::swap(&mut self.last, before);
        if length != self.last.length {
            let scaled = length * 8 * 1_000_000_000;
            self.last = Transmission {
                length,
                nanoseconds: scaled / self.bits_per_second,
                remainder: scaled % self.bits_per_second,
            };
        }
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
            let mut transmissions = Transmissions::new(Rate::from_bits_per_second(rate).unwrap()).unwrap();
            let mut before = Transmission::default();
            let (mut remainder, mut nanoseconds, mut bytes) = (0, 0u128, 0u128);
            for length in lengths {
                nanoseconds += u128::from(transmissions.take(length, &mut remainder, &mut before));
                bytes += u128::from(length);
                prop_assert_eq!(nanoseconds, bytes * 8_000_000_000 / u128::from(rate));
                prop_assert_eq!(u128::from(remainder), bytes * 8_000_000_000 % u128::from(rate));
            }
        }
    }
}

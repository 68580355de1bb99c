// SPDX-License-Identifier: MIT OR Apache-2.0
//! The buckets of a calendar queue: flights of the present group by bucket, and of later ones by group.

use crate::engine::flight::Flight;

/// Buckets of a group, and groups of which flights are kept, as a power of two.
pub(crate) const GROUP_LOG2: u32 = 12;
/// Buckets of a group, and groups of which flights are kept.
const BUCKETS: usize = 1 << GROUP_LOG2;

/// Flights in a block, which has 256 bytes.
const FLIGHTS: usize = 6;

/// Marks a bucket without blocks, and the end of the list of free blocks.
const NONE: u32 = u32::MAX;

/// Some flights of one bucket, in the order in which they went in.
#[derive(Debug)]
#[repr(C, align(64))]
struct Block {
    flights: [Flight; FLIGHTS],
    used: u32,
    /// The bucket's next block, after its last one the first again; of those not in use the next one.
    next: u32,
}

/// Flights by bucket, and which buckets have any.
#[derive(Debug)]
struct Buckets {
    /// The last block of each.
    last: Box<[u32]>,
    /// A bit for each bucket that has any.
    filled: [u64; BUCKETS / 64],
    /// A bit for each of those numbers that is not zero.
    any: u64,
}

impl Buckets {
    fn new() -> Buckets {
        Buckets {
            last: vec![NONE; BUCKETS].into(),
            filled: [0; BUCKETS / 64],
            any: 0,
        }
    }

    /// The first bucket from `bucket` on, below [`BUCKETS`], that has any.
    #[inline]
    fn next(&self, bucket: usize) -> Option<usize> {
        let word = bucket / 64;
        let here = *self.filled.get(word)? >> (bucket % 64);
        if here != 0 {
            return Some(bucket + here.trailing_zeros() as usize);
        }
        let after = self.any.checked_shr(word as u32 + 1).unwrap_or(0);
        if after == 0 {
            return None;
        }
        let word = word + 1 + after.trailing_zeros() as usize;
        Some(word * 64 + self.filled[word].trailing_zeros() as usize)
    }

    /// The last block of a bucket, which then has none.
    #[inline]
    fn take(&mut self, bucket: usize) -> u32 {
        let word = bucket / 64;
        self.filled[word] &= !(1 << (bucket % 64));
        if self.filled[word] == 0 {
            self.any &= !(1 << word);
        }
        std::mem::replace(&mut self.last[bucket], NONE)
    }
}

/// Blocks, each in some bucket or free. The one freed last is used next, as it is still in the cache.
#[derive(Debug)]
struct Blocks {
    blocks: Vec<Block>,
    free: u32,
}

impl Blocks {
    #[inline(always)]
    fn push(&mut self, buckets: &mut Buckets, bucket: usize, flight: Flight) {
        let last = buckets.last[bucket];
        if let Some(block) = self.blocks.get_mut(last as usize) {
            let used = block.used as usize;
            if let Some(place) = block.flights.get_mut(used) {
                *place = flight;
                block.used += 1;
                return;
            }
        }
        self.push_on_new(buckets, bucket, flight);
    }

    #[inline]
    fn push_on_new(&mut self, buckets: &mut Buckets, bucket: usize, flight: Flight) {
        let last = buckets.last[bucket];
        let new = self.free;
        let new = if let Some(block) = self.blocks.get_mut(new as usize) {
            self.free = block.next;
            new
        } else {
            self.blocks.push(Block {
                flights: [Flight::NONE; FLIGHTS],
                used: 0,
                next: NONE,
            });
            u32::try_from(self.blocks.len() - 1).expect("fewer than 2^32 packets under way")
        };
        let first = if last == NONE {
            buckets.filled[bucket / 64] |= 1 << (bucket % 64);
            buckets.any |= 1 << (bucket / 64);
            new
        } else {
            std::mem::replace(&mut self.blocks[last as usize].next, new)
        };
        let block = &mut self.blocks[new as usize];
        block.flights[0] = flight;
        block.used = 1;
        block.next = first;
        buckets.last[bucket] = new;
    }

    /// Calls `each` with every flight in the blocks of a bucket, given its last one, and frees them.
    #[inline(always)]
    fn take(&mut self, last: u32, mut each: impl FnMut(&mut Blocks, &Flight)) {
        let Some(mut next) = self.blocks.get(last as usize).map(|block| block.next) else {
            return;
        };
        loop {
            let number = next;
            let used = self.blocks[number as usize].used as usize;
            for index in 0..used {
                let flight = self.blocks[number as usize].flights[index];
                each(self, &flight);
            }
            let block = &mut self.blocks[number as usize];
            next = std::mem::replace(&mut block.next, self.free);
            block.used = 0;
            self.free = number;
            if number == last {
                return;
            }
        }
    }
}

/// Flights of one group by the bucket, and of the following ones by the group.
#[derive(Debug)]
pub(crate) struct BucketStore {
    buckets: Buckets,
    groups: Buckets,
    blocks: Blocks,
}

impl BucketStore {
    pub fn new() -> BucketStore {
        BucketStore {
            buckets: Buckets::new(),
            groups: Buckets::new(),
            blocks: Blocks {
                blocks: Vec::new(),
                free: NONE,
            },
        }
    }

    /// Inserts a flight into a bucket of the present group.
    #[inline(always)]
    pub fn push_bucket(&mut self, bucket: u64, flight: Flight) {
        self.blocks
            .push(&mut self.buckets, bucket as usize % BUCKETS, flight);
    }

    /// Inserts a flight into a later group, fewer than [`BUCKETS`] ahead.
    #[inline]
    pub fn push_group(&mut self, group: u64, flight: Flight) {
        self.blocks
            .push(&mut self.groups, group as usize % BUCKETS, flight);
    }

    /// The first bucket of `group` from `bucket` on that has any flights.
    #[inline]
    pub fn next_bucket(&self, bucket: u64, group: u64) -> Option<u64> {
        let begin = group << GROUP_LOG2;
        let bucket = self.buckets.next((bucket - begin) as usize)?;
        Some(begin + bucket as u64)
    }

    /// The first group after `group` that has any flights.
    pub fn next_group(&self, group: u64) -> Option<u64> {
        let bucket = group as usize % BUCKETS;
        let ahead = match self.groups.next(bucket + 1) {
            Some(next) => next - bucket,
            None => self.groups.next(0)? + BUCKETS - bucket,
        };
        Some(group + ahead as u64)
    }

    /// Takes out the flights of a bucket of the present group, in the order in which they went in.
    #[inline]
    pub fn take_bucket(&mut self, bucket: u64, into: &mut Vec<Flight>) {
        let last = self.buckets.take(bucket as usize % BUCKETS);
        self.blocks.take(last, |_, flight| into.push(*flight));
    }

    /// Makes `group` the present one, by the bucket of each of its flights. The one before has none left.
    pub fn turn_to(&mut self, group: u64, bucket: impl Fn(&Flight) -> u64) {
        let last = self.groups.take(group as usize % BUCKETS);
        let buckets = &mut self.buckets;
        self.blocks.take(last, |blocks, flight| {
            blocks.push(buckets, bucket(flight) as usize % BUCKETS, *flight);
        });
    }

    /// All flights.
    pub fn iter(&self) -> impl Iterator<Item = &Flight> {
        // Blocks not in use have no flights.
        let blocks = self.blocks.blocks.iter();
        blocks.flat_map(|block| &block.flights[..block.used as usize])
    }
}

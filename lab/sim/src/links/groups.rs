// SPDX-License-Identifier: MIT OR Apache-2.0
//! Properties that drop-tail links share, and the lanes of the packets on them.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Duration;

use netnice_queue::{QueueBound, Rate};

use crate::engine::fifo_lanes::{self, NO_LANE};
use crate::links::drop_tail::LinkProperties;

/// Bound of the lanes: with the two that always exist, the earliest of their packets is found in five steps.
const MAX_LANES: usize = fifo_lanes::MAX_LANES / 2 - 2;
/// Groups with no more links than this are split into one group per link, as for the links of a backbone.
const FEW_LINKS: usize = 4;
/// Number of packet lengths that have lanes on links of one group.
const LENGTHS: usize = 3;

/// Links of one rate, delay, bound of the queue and longest jitter.
#[derive(Debug, Clone)]
pub(crate) struct LinkGroup {
    pub properties: LinkProperties,
    pub lanes: GroupLanes,
}

/// The lanes of packets on links of one group: one for each length, for packets that find their link idle and so all
/// take the same time.
#[derive(Debug, Clone, Default)]
pub(crate) struct GroupLanes {
    /// The first one; [`NO_LANE`] where there is none.
    first: u16,
    /// All packets come out in order: there is one link, or sending takes no time and there is no jitter.
    single: bool,
    /// Lengths that have a lane; 0 is none yet.
    lengths: [u16; LENGTHS],
}

impl GroupLanes {
    /// Returns the lane of a packet of `length` bytes; `waited` if it had to wait for others.
    #[inline(always)]
    pub fn lane(&mut self, properties: &LinkProperties, length: u16, waited: bool) -> usize {
        let first = usize::from(self.first);
        if self.single || first == NO_LANE {
            return first;
        }
        if waited {
            return NO_LANE;
        }
        match self.lengths.iter().position(|&known| known == length) {
            Some(place) if length > 0 => first + place,
            _ => self.learn(properties, length),
        }
    }

    /// Assigns a lane to a new length. Packets of one link that come out at the same time must not be in different
    /// lanes, so packets that take no time to send have none.
    #[cold]
    fn learn(&mut self, properties: &LinkProperties, length: u16) -> usize {
        let free = self.lengths.iter().position(|&known| known == 0);
        match free.filter(|_| takes_time(properties.rate(), length)) {
            Some(place) => {
                self.lengths[place] = length;
                usize::from(self.first) + place
            }
            None => NO_LANE,
        }
    }
}

/// Returns true if `length` bytes take a nanosecond or more to send, so that the next packet comes out later.
pub(crate) fn takes_time(rate: Option<Rate>, length: u16) -> bool {
    rate.is_some_and(|rate| u64::from(length) * 8_000_000_000 >= rate.bits_per_second())
}

/// Properties that identify a group: the last is the longest jitter in nanoseconds.
type Key = (Option<Rate>, Duration, QueueBound, Option<u64>);

/// The groups of drop-tail links in a run.
#[derive(Debug, Default)]
pub(crate) struct LinkGroups {
    pub all: Vec<LinkGroup>,
    numbers: HashMap<Key, u32>,
    /// Links of each.
    links: Vec<usize>,
}

impl LinkGroups {
    /// Returns the number of the group of a new link, and counts the link.
    pub fn of(&mut self, key: Key) -> u32 {
        let (rate, delay, bound, jitter) = key;
        let (all, links) = (&mut self.all, &mut self.links);
        let number = *self.numbers.entry(key).or_insert_with(|| {
            all.push(LinkGroup {
                properties: LinkProperties::new(rate, delay, bound, jitter),
                lanes: GroupLanes::default(),
            });
            links.push(0);
            u32::try_from(all.len() - 1).expect("fewer than 2^32 links")
        });
        self.links[number as usize] += 1;
        number
    }

    /// Frees what only adding links needs.
    pub fn seal(&mut self) {
        self.numbers = HashMap::new();
    }

    /// Gives each link of a group with few links a group of its own, by changing its number, and gives lanes to groups,
    /// those of the most links first. Returns the number of lanes.
    pub fn give_lanes<'a>(&mut self, numbers: impl Iterator<Item = &'a mut u32>) -> usize {
        let mut links = std::mem::take(&mut self.links);
        // If there are too many groups for all to have lanes, more groups would only take memory.
        if self.all.len() <= MAX_LANES {
            for number in numbers {
                let old = *number as usize;
                if (2..=FEW_LINKS).contains(&links[old]) {
                    *number = self.all.len() as u32;
                    self.all.push(self.all[old].clone());
                    links[old] -= 1;
                    links.push(1);
                }
            }
        }
        let mut order: Vec<_> = (0..self.all.len()).collect();
        order.sort_by_key(|&group| Reverse(links[group]));
        let mut given = 0;
        for group in order {
            let properties = &self.all[group].properties;
            // Of many links with jitter no two packets take the same time.
            if links[group] > 1 && properties.has_jitter() {
                continue;
            }
            let single = links[group] == 1 || properties.rate().is_none();
            let lanes = if single { 1 } else { LENGTHS };
            if given + lanes > MAX_LANES {
                break;
            }
            self.all[group].lanes = GroupLanes {
                first: (NO_LANE + 1 + given) as u16,
                single,
                lengths: [0; LENGTHS],
            };
            given += lanes;
        }
        given
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of the groups of links with these rates in Mb/s (0 takes no time), the groups, and the number of lanes.
    fn sealed(megabits: &[u64]) -> (Vec<u32>, LinkGroups, usize) {
        let mut groups = LinkGroups::default();
        let rate = |megabits: u64| Rate::from_bits_per_second(megabits * 1_000_000).ok();
        let key = |megabits| {
            let bound = QueueBound::Packets(5);
            (rate(megabits), Duration::ZERO, bound, None)
        };
        let numbers = megabits.iter().map(|&megabits| groups.of(key(megabits)));
        let mut numbers: Vec<_> = numbers.collect();
        groups.seal();
        let lanes = groups.give_lanes(numbers.iter_mut());
        (numbers, groups, lanes)
    }

    impl LinkGroups {
        fn lane(&mut self, number: u32, length: u16, waited: bool) -> usize {
            let LinkGroup { properties, lanes } = &mut self.all[number as usize];
            lanes.lane(properties, length, waited)
        }
    }

    #[test]
    fn links_of_a_backbone_have_lanes_of_their_own_and_hosts_one_for_each_length() {
        let (numbers, mut groups, given) = sealed(&[10, 10, 100, 100, 100, 100, 100, 100]);
        let [one, other, host, next] = [0, 1, 2, 3].map(|link| numbers[link]);
        assert!(one != other && host == next);
        let lane_of_one = groups.lane(one, 1500, false);
        assert_eq!(groups.lane(one, 40, true), lane_of_one);
        let lane_of_other = groups.lane(other, 1500, true);
        let data = groups.lane(host, 1500, false);
        let ack = groups.lane(next, 40, false);
        let mut lanes = vec![lane_of_one, lane_of_other, data, ack];
        lanes.sort_unstable();
        lanes.dedup();
        assert_eq!(lanes.len(), 4);
        assert!(!lanes.contains(&NO_LANE) && lanes[3] <= given);
        assert_eq!(groups.lane(next, 1500, false), data);
        assert_eq!(groups.lane(next, 1500, true), NO_LANE);
        assert_ne!(groups.lane(host, 576, false), NO_LANE);
        assert_eq!(groups.lane(host, 577, false), NO_LANE, "no more than three");
    }

    #[test]
    fn what_takes_no_time_shares_a_lane_or_has_none() {
        // 40 bytes take 1.6 ns at 200 Gb/s, 24 bytes not even one.
        let (numbers, mut groups, _) = sealed(&[[200_000; 5], [0; 5]].concat());
        assert_ne!(groups.lane(numbers[0], 40, false), NO_LANE);
        assert_eq!(groups.lane(numbers[0], 24, false), NO_LANE);
        let lane = groups.lane(numbers[5], 40, false);
        assert!(lane != NO_LANE && groups.lane(numbers[6], 24, false) == lane);
    }

    #[test]
    fn of_more_groups_than_lanes_those_of_the_most_links_have_them() {
        let rates: Vec<_> = (1..100).chain([50; 9]).collect();
        let (numbers, mut groups, given) = sealed(&rates);
        assert_eq!(groups.all.len(), 99);
        assert!(given <= MAX_LANES);
        assert_ne!(groups.lane(numbers[105], 40, false), NO_LANE);
        assert_eq!(groups.lane(numbers[98], 40, false), NO_LANE);
    }
}

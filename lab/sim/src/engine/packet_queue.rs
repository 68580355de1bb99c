// SPDX-License-Identifier: MIT OR Apache-2.0
//! The packets, in order, on links that compute a packet's departure time on its arrival.

use std::fmt::Debug;
use std::ops::Range;

use netnice_queue::Time;

use crate::engine::flight::{Departure, Flight};
use crate::engine::scheduler::Shape;
use crate::packet::Packet;

/// The flights of a run. Those of one link and one time come out in the order in which they went in.
pub(crate) trait PacketQueue: Debug {
    /// All links are in the processor's cache: there are neither lanes nor packets that are known ahead.
    const FITS_CACHE: bool;

    /// A queue without flights.
    fn new(shape: &Shape) -> Self;

    /// A packet goes onto a link, if [`PacketQueue::FITS_CACHE`] is false in a lane. It must not come out before any that was
    /// taken, nor before any on the same link.
    fn push(&mut self, lane: usize, link: u32, departure: Departure, packet: Packet);

    /// The key of the flight that comes out next; the largest number where there is none.
    fn first(&mut self) -> u128;

    /// The time at which the next flight comes out; later than that of any flight if there is none.
    fn first_due(&mut self) -> Time;

    /// Takes out the flight of [`PacketQueue::first`], which was asked for before; [`Flight::NONE`] where there is none.
    fn take_first(&mut self) -> Flight;

    /// All flights.
    fn iter(&self) -> impl Iterator<Item = &Flight>;

    /// All flights were taken, and the run has come to `now`: flights may be inserted from there on.
    fn start_again(&mut self, _now: Time) {}

    /// Takes all flights out, in order, of a run that has come to `now`.
    fn take_all(&mut self, now: Time) -> Vec<Flight> {
        let mut all = Vec::new();
        while self.first() != u128::MAX {
            all.push(self.take_first());
        }
        self.start_again(now);
        all
    }

    /// From now on so many flights are known ahead, and [`PacketQueue::take_fresh`] shows them; `None` where nobody asks for
    /// them.
    fn know_ahead(&mut self, _ahead: Option<usize>) {}

    /// There are flights that [`PacketQueue::take_fresh`] will show.
    #[inline(always)]
    fn any_fresh(&self) -> bool {
        false
    }

    /// Where up to `most` flights are among the upcoming ones that were not shown before.
    fn take_fresh(&mut self, _most: usize) -> Option<Range<usize>> {
        None
    }

    /// Upcoming flights.
    fn upcoming(&self, _range: Range<usize>) -> &[Flight] {
        &[]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::calendar_queue::CalendarQueue;
    use crate::engine::fifo_lanes::FifoLanes;
    use crate::engine::link_fifos::LinkFifos;
    use crate::packet::Packet;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    fn departure(due: u64, body: u32) -> (Departure, Packet) {
        let departure = Departure {
            due: Time::from_nanos(due),
            waited_ns: 0,
        };
        let packet = Packet {
            body,
            ..Flight::NONE.packet
        };
        (departure, packet)
    }

    fn flight(due: u64, link: u32, body: u32) -> Flight {
        let (departure, packet) = departure(due, body);
        Flight::new(link, departure, packet)
    }

    proptest! {
        #[test]
        fn flights_come_out_by_time_then_link_then_as_they_went_in(
            ahead in 0usize..20,
            // From nanoseconds to hours ahead.
            steps in prop::collection::vec((0u32..45, 0u64..64, 0u32..4, 1u8..4), 1..400),
            lane_of in prop::array::uniform4(0usize..4),
        ) {
            let mut calendar = CalendarQueue::new();
            let mut lanes = FifoLanes::new(3, ahead);
            let mut fifos = LinkFifos::new(4);
            let mut last = [0; 4];
            let mut model = BTreeMap::new();
            let mut now = 0;
            for (number, (scale, later, link, times)) in steps.into_iter().enumerate() {
                let number = number as u32;
                let due = (now + (later << scale >> 6)).max(last[link as usize]);
                last[link as usize] = due;
                let (departure, packet) = departure(due, number);
                calendar.push(flight(due, link, number));
                fifos.push(0, link, departure, packet);
                lanes.push(lane_of[link as usize], link, departure, packet);
                model.insert((due, link, number), number);
                prop_assert_eq!(calendar.iter().count(), model.len());
                prop_assert_eq!(fifos.iter().count(), model.len());
                prop_assert_eq!(lanes.iter().count(), model.len());
                if times == 1 {
                    continue;
                }
                if number % 16 == 7 {
                    lanes.know_ahead((number % 32 == 7).then_some(ahead));
                }
                if number % 16 == 15 {
                    // All are taken out, and put back.
                    let all = lanes.take_all(Time::from_nanos(now));
                    prop_assert_eq!(&fifos.take_all(Time::from_nanos(now)), &all);
                    let in_order = model.keys().map(|&(due, link, number)| flight(due, link, number));
                    prop_assert_eq!(&all, &in_order.collect::<Vec<_>>());
                    for flight in all {
                        let (departure, packet) = self::departure(flight.due.as_nanos(), flight.packet.body);
                        fifos.push(0, flight.link, departure, packet);
                        lanes.push(lane_of[flight.link as usize], flight.link, departure, packet);
                    }
                }
                for _ in 1..times {
                    let expected = model.pop_first().map(|(key, _)| key);
                    let key = calendar.first();
                    prop_assert_eq!(key == u128::MAX, expected.is_none());
                    // A caller that asks for the time only takes a flight that `first` has not looked for.
                    let due = Time::from_nanos((key >> 32) as u64);
                    if key != u128::MAX {
                        prop_assert_eq!([fifos.first_due(), lanes.first_due()], [due; 2]);
                    }
                    if number % 8 < 5 {
                        prop_assert_eq!([fifos.first(), lanes.first()], [key; 2]);
                    }
                    if let Some((due, link, number)) = expected {
                        let got = calendar.take_first();
                        prop_assert_eq!(got, flight(due, link, number));
                        prop_assert_eq!(fifos.take_first(), got);
                        prop_assert_eq!(lanes.take_first(), got);
                        prop_assert_eq!(flight(due, link, number).key(), key);
                        now = due;
                    }
                }
            }
        }
    }
}

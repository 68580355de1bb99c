// SPDX-License-Identifier: MIT OR Apache-2.0
//! The computed network between the hosts: links that packets pass in virtual time. No I/O.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use netnice_queue::{Dropped, Time};
use netnice_scenario::Layout;
use netnice_scenario::network::{Place, Problem};
use netnice_sim::{EventTrace, PacketAtLink};

use netnice_link::ImpairedLink;
use netnice_link::packet::Frame;

/// Takes the packets that leave the network.
pub(super) trait Outcome {
    /// Takes a packet that reached its destination at `due`.
    fn arrived(&mut self, frame: Frame, due: Time);
    /// Takes a packet that was dropped.
    fn dropped(&mut self, frame: Frame);
}

/// The record of the events at some links.
#[derive(Debug)]
pub(super) struct LinkEvents {
    pub(super) trace: EventTrace,
    /// For each link, true if its events are recorded.
    pub(super) recorded: Vec<bool>,
}

impl LinkEvents {
    /// Calls `record` if the events at this link are recorded.
    fn at(
        events: &mut Option<LinkEvents>,
        link: u32,
        frame: &Frame,
        record: impl FnOnce(&mut EventTrace, &PacketAtLink),
    ) {
        let Some(events) = events else { return };
        if events.recorded[link as usize] {
            let packet = PacketAtLink {
                number: frame.number,
                flow: frame.flow,
                to_sender: !frame.forward,
                sequence: frame.sequence,
                bytes: frame.length as u32,
                marked: frame.congestion_experienced(),
            };
            record(&mut events.trace, &packet);
        }
    }
}

/// Links and the packets on them.
///
/// A link takes a packet at the exact virtual time at which the link before delivers it, however late the driver calls.
/// Packets can therefore be late only where they enter and leave real time.
#[derive(Debug)]
pub(super) struct LinkNetwork {
    pub(super) links: Vec<ImpairedLink>,
    routes: Vec<Box<[u32]>>,
    /// Next event of each link, and stale ones, which are skipped.
    events: BinaryHeap<Reverse<(Time, u32)>>,
    /// The valid event of each link.
    pending: Vec<Option<Time>>,
    pub(super) recording: Option<LinkEvents>,
}

impl LinkNetwork {
    /// Creates all links of `network`, idle. A route is a list of link numbers.
    pub(super) fn new(
        network: &Layout,
        routes: Vec<Box<[u32]>>,
        seed: u64,
    ) -> Result<LinkNetwork, Problem> {
        let links = network.links.iter().map(|link| {
            ImpairedLink::new(link, seed)
                .map_err(|error| Place::key("links").problem(format!("{}: {error}", link.name)))
        });
        let links = links.collect::<Result<Vec<ImpairedLink>, Problem>>()?;
        Ok(LinkNetwork {
            pending: vec![None; links.len()],
            links,
            routes,
            events: BinaryHeap::new(),
            recording: None,
        })
    }

    /// Puts a packet on its route at `now`. Call [`LinkNetwork::advance`] for `now` before.
    pub(super) fn enter(&mut self, now: Time, frame: Frame, outcome: &mut impl Outcome) {
        self.forward(now, frame, outcome);
        // Links without rate and delay deliver it at once.
        self.advance(now, outcome);
    }

    /// Returns the time at which to call [`LinkNetwork::advance`] next.
    pub(super) fn next_event(&mut self) -> Option<Time> {
        while let Some(&Reverse((time, link))) = self.events.peek() {
            if self.pending[link as usize] == Some(time) {
                return Some(time);
            }
            self.events.pop();
        }
        None
    }

    /// Processes all events up to `now`, in the order of virtual time.
    pub(super) fn advance(&mut self, now: Time, outcome: &mut impl Outcome) {
        while let Some(time) = self.next_event().filter(|&time| time <= now) {
            let Some(Reverse((_, link))) = self.events.pop() else {
                return;
            };
            self.pending[link as usize] = None;
            while let Some((frame, due)) = self.links[link as usize].deliver(time, |out| {
                LinkEvents::at(&mut self.recording, link, &out.packet, |trace, packet| {
                    trace.delivered(out.due, link, packet, out.waited_ns);
                });
            }) {
                self.forward(due, frame, outcome);
            }
            self.take_dropped(time, link, outcome);
            self.schedule(link);
        }
    }

    /// Offers a packet to the next link of its route, or delivers it.
    fn forward(&mut self, now: Time, mut frame: Frame, outcome: &mut impl Outcome) {
        let route = &self.routes[frame.route as usize];
        let Some(&link) = route.get(usize::from(frame.hop)) else {
            return outcome.arrived(frame, now);
        };
        frame.hop += 1;
        LinkEvents::at(&mut self.recording, link, &frame, |trace, packet| {
            trace.arrived(now, link, packet);
        });
        if let Err(dropped) = self.links[link as usize].offer(now, frame) {
            self.lose(now, link, dropped, outcome);
        }
        self.take_dropped(now, link, outcome);
        self.schedule(link);
    }

    /// Hands over the packets that a queue dropped after it had admitted them.
    fn take_dropped(&mut self, now: Time, link: u32, outcome: &mut impl Outcome) {
        while let Some(dropped) = self.links[link as usize].take_dropped() {
            self.lose(now, link, dropped, outcome);
        }
    }

    fn lose(&mut self, now: Time, link: u32, lost: Dropped<Frame>, outcome: &mut impl Outcome) {
        LinkEvents::at(&mut self.recording, link, &lost.packet, |trace, packet| {
            trace.dropped(now, link, packet, lost.cause);
        });
        outcome.dropped(lost.packet);
    }

    fn schedule(&mut self, link: u32) {
        let next = self.links[link as usize].next_event();
        let pending = &mut self.pending[link as usize];
        if *pending != next {
            *pending = next;
            self.events.extend(next.map(|time| Reverse((time, link))));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use netnice_scenario::ScenarioFile;

    #[derive(Default)]
    struct Record {
        arrived: Vec<(usize, Time)>,
        dropped: usize,
    }

    impl Outcome for Record {
        fn arrived(&mut self, frame: Frame, due: Time) {
            self.arrived.push((frame.length, due));
        }

        fn dropped(&mut self, _: Frame) {
            self.dropped += 1;
        }
    }

    fn network(links: &str) -> LinkNetwork {
        let text = format!(
            "name = \"n\"\nduration = \"1s\"\n{links}\n[[flows]]\nname = \"f\"\nfrom = \"a\"\nto = \"c\"\n"
        );
        let file = ScenarioFile::parse("n.toml", &text, &[], None).unwrap();
        let network = file.points[0].layout().unwrap();
        LinkNetwork::new(&network, vec![Box::new([0, 2])], 1).unwrap()
    }

    fn frame(length: usize) -> Frame {
        let mut frame = Frame::new(1500);
        frame.length = length;
        frame
    }

    const TWO_LINKS: &str = "
        [[links]]\nfrom = \"a\"\nto = \"b\"\nrate = \"12mbit\"\ndelay = \"2ms\"
        [[links]]\nfrom = \"b\"\nto = \"c\"\nrate = \"6mbit\"\ndelay = \"5ms\"\nqueue = \"1p\"";

    #[test]
    fn times_add_up_however_late_the_driver_is() {
        // 1500 B take 1 ms at 12 Mb/s and 2 ms at 6 Mb/s: 1 + 2 + 2 + 5 = 10 ms, and 2 ms more behind another.
        let expected = [(1500, Time::from_millis(10)), (1500, Time::from_millis(12))];
        for steps in [1, 100] {
            let mut network = network(TWO_LINKS);
            let mut record = Record::default();
            for _ in 0..2 {
                network.enter(Time::ZERO, frame(1500), &mut record);
            }
            for step in 1..=steps {
                network.advance(Time::from_millis(100 * step / steps), &mut record);
            }
            assert_eq!(record.arrived, expected);
            assert_eq!(network.next_event(), None);
        }
    }

    #[test]
    fn a_full_queue_drops_on_the_way() {
        let mut network = network(TWO_LINKS);
        let mut record = Record::default();
        for _ in 0..6 {
            network.enter(Time::ZERO, frame(1500), &mut record);
        }
        network.advance(Time::from_millis(100), &mut record);
        // They reach the second link 1 ms apart; it sends one in 2 ms and queues one.
        assert_eq!((record.arrived.len(), record.dropped), (4, 2));
    }

    #[test]
    fn a_network_without_delay_delivers_at_once() {
        let mut network =
            network("[[links]]\nfrom = \"a\"\nto = \"b\"\n[[links]]\nfrom = \"b\"\nto = \"c\"\n");
        let mut record = Record::default();
        network.enter(Time::from_millis(3), frame(40), &mut record);
        assert_eq!(record.arrived, [(40, Time::from_millis(3))]);
    }
}

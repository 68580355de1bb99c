// SPDX-License-Identifier: MIT OR Apache-2.0
//! netnice applied to one direction of a group's UDP: `policies/aggregate.h`.

use bytemuck::{Pod, Zeroable};

use crate::objects::parameters::Parameters;

/// `struct aggregate`, with room for more.
#[repr(C, align(8))]
#[derive(Clone)]
pub(super) struct Aggregate([u64; 64]);

/// `struct aggregate_echo`: what is remembered of an echo until its reply comes.
#[repr(C, align(8))]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Echo([u64; 6]);

/// What is told of a direction.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Told {
    /// Bytes per second.
    pub(super) rate: u64,
    pub(super) yields_now: bool,
    /// Number of times it has yielded.
    pub(super) yields: u64,
    pub(super) smoothed_rtt_us: u64,
    /// Time of a packet at the highest rate known, in nanoseconds; 0: unknown.
    pub(super) packet_ns: u64,
}

/// `struct aggregate_bytes`: bytes so far.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
pub(super) struct Bytes {
    /// At the queue.
    pub(super) arrived: u64,
    /// Behind it.
    pub(super) passed: u64,
}

unsafe extern "C" {
    fn udp_aggregate_begin(
        state: *mut Aggregate,
        wanted: *const Parameters,
        arrives: u32,
        now_us: u32,
        rtt_us: u32,
        bytes: *const Bytes,
        rate: u64,
    );
    fn udp_aggregate_on_echo(
        state: *mut Aggregate,
        echo: *mut Echo,
        now_us: u32,
        bytes: *const Bytes,
    );
    fn udp_aggregate_on_reply(
        state: *mut Aggregate,
        echo: *const Echo,
        now_us: u32,
        read_us: u32,
        bytes: *const Bytes,
        lost: u32,
    );
    fn udp_aggregate_on_timeout(state: *mut Aggregate, now_us: u32);
    fn udp_aggregate_echo_us(state: *const Aggregate) -> u32;
    fn udp_aggregate_told(state: *const Aggregate, told: *mut [u64; 5]);
}

impl Aggregate {
    /// Begins with the first reply, which took `rtt_us`, for what arrives or leaves, at `rate` bytes per second of late.
    pub(super) fn new(
        wanted: &Parameters,
        arrives: bool,
        now_us: u32,
        rtt_us: u32,
        bytes: &Bytes,
        rate: u64,
    ) -> Self {
        let mut state = Self([0; 64]);
        let arrives = arrives.into();
        // SAFETY: zeros are a valid state, for which `Self` has room, as native.c asserts.
        unsafe { udp_aggregate_begin(&mut state, wanted, arrives, now_us, rtt_us, bytes, rate) };
        state
    }

    /// Returns the record of an echo that leaves now.
    pub(super) fn on_echo(&mut self, now_us: u32, bytes: &Bytes) -> Echo {
        let mut echo = Echo::default();
        // SAFETY: all are as the function needs them.
        unsafe { udp_aggregate_on_echo(self, &mut echo, now_us, bytes) };
        echo
    }

    /// Takes a reply that came at `now_us`, before which `lost` echoes are without one; `bytes` were read at `read_us`.
    pub(super) fn on_reply(
        &mut self,
        echo: &Echo,
        now_us: u32,
        read_us: u32,
        bytes: &Bytes,
        lost: u32,
    ) {
        // SAFETY: as above.
        unsafe { udp_aggregate_on_reply(self, echo, now_us, read_us, bytes, lost) };
    }

    /// Takes the time-out of all echoes.
    pub(super) fn on_timeout(&mut self, now_us: u32) {
        // SAFETY: as above.
        unsafe { udp_aggregate_on_timeout(self, now_us) };
    }

    /// Returns the time from one echo to the next, in microseconds.
    pub(super) fn echo_us(&self) -> u32 {
        // SAFETY: as above.
        unsafe { udp_aggregate_echo_us(self) }
    }

    pub(super) fn told(&self) -> Told {
        let mut told = [0; 5];
        // SAFETY: the function writes five numbers.
        unsafe { udp_aggregate_told(self, &mut told) };
        let [rate, yields_now, yields, smoothed_rtt_us, packet_ns] = told;
        Told {
            rate,
            yields_now: yields_now != 0,
            yields,
            smoothed_rtt_us,
            packet_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use super::{Aggregate, Bytes, Echo, Told};
    use crate::objects::parameters::Parameters;

    const LINK: f64 = 1.25e6; // bytes per second
    const STEP_US: u32 = 500;

    /// Bytes on their way, by the time at which they are there.
    #[derive(Default)]
    struct Way(VecDeque<(u32, f64)>);

    impl Way {
        fn take(&mut self, now_us: u32) -> f64 {
            let mut sum = 0.0;
            while self.0.front().is_some_and(|(at, _)| *at <= now_us) {
                sum += self.0.pop_front().unwrap().1;
            }
            sum
        }
    }

    /// A group that always has something to move over a path of 10 Mb/s, whose queue others fill from 10 to 20 s, as a
    /// flow does that only answers losses. At first the group has `standing` bytes in that queue. What arrives is sent by a window of
    /// 100,000 bytes, as packets pass. Returns the group's rate in each second, as a part of the link's, and the bytes that it has
    /// in the link's queue before others come, from the fifth second on.
    fn rates(arrives: bool, one_way_us: u32, standing: f64) -> (Vec<f64>, f64) {
        let mut bytes = Bytes::default();
        let none = Parameters::default();
        let first_us = 2 * one_way_us + (standing / LINK * 1e6) as u32;
        let rate = if standing > 0.0 { LINK } else { 0.4 * LINK };
        let mut state = Aggregate::new(&none, arrives, first_us, first_us, &bytes, rate as u64);
        let (mut own, mut strange) = (standing, 0.0_f64); // in the link's queue
        let (mut passed, mut arrived, mut waits) = (0.0, 0.0, 100_000.0 - standing);
        let (mut to_link, mut from_link) = (Way::default(), Way::default());
        let mut replies: VecDeque<(u32, Echo)> = VecDeque::new();
        let (mut next, mut rises) = (0, true);
        let (mut found, mut queued) = (vec![0.0; 40], 0.0);
        let share = f64::from(STEP_US) / 1e6;
        for step in 0..40 * 1_000_000 / STEP_US {
            let now_us = first_us + step * STEP_US;
            let second = (step * STEP_US / 1_000_000) as usize;
            let wanted = state.told().rate as f64 * share;
            let passes = if arrives { wanted.min(waits) } else { wanted };
            passed += passes;
            let there_us = now_us + if arrives { one_way_us } else { 0 };
            to_link.0.push_back((there_us, passes));
            own += to_link.take(now_us);
            rises = match own + strange {
                low if low < 40_000.0 => true,
                high if high > 110_000.0 => false,
                _ => rises,
            };
            if (10..20).contains(&second) {
                strange += if rises { 1.2 } else { 0.8 } * LINK * share;
            }
            let served = (LINK * share / (own + strange).max(1e-9)).min(1.0);
            let mine = own * served;
            found[second] += mine / LINK;
            (own, strange) = (own - mine, strange - strange * served);
            // What finds no room is sent again.
            let kept = (125_000.0 / (own + strange).max(1e-9)).min(1.0);
            to_link
                .0
                .push_back((now_us + 2 * one_way_us, own * (1.0 - kept)));
            to_link.0.make_contiguous().sort_by_key(|(at, _)| *at);
            (own, strange) = (own * kept, strange * kept);
            if (4..10).contains(&second) {
                queued += own * share / 6.0;
            }
            from_link.0.push_back((now_us + one_way_us, mine));
            let comes = from_link.take(now_us);
            arrived += comes;
            waits += if arrives { comes - passes } else { 0.0 };
            bytes.passed = passed as u64;
            bytes.arrived = if arrives {
                arrived as u64
            } else {
                passed as u64
            };
            while replies.front().is_some_and(|(at, _)| *at <= now_us) {
                let (at, echo) = replies.pop_front().unwrap();
                state.on_reply(&echo, at, now_us, &bytes, 0);
            }
            if now_us >= next {
                let echo = state.on_echo(now_us, &bytes);
                let delay_us = ((own + strange) / LINK * 1e6) as u32 + 2 * one_way_us;
                replies.push_back((now_us + delay_us, echo));
                next = now_us + state.echo_us();
            }
        }
        (found, queued)
    }

    fn mean(rates: &[f64]) -> f64 {
        rates.iter().sum::<f64>() / rates.len() as f64
    }

    #[test]
    fn a_path_is_filled_left_to_others_and_filled_again() {
        // Where it begins late, its own packets may fill the queue. Replies of a short path are rare beside its round trip.
        for (arrives, one_way_us, standing, filled) in [
            (false, 20_000, 0.0, 0.85),
            (true, 20_000, 0.0, 0.85),
            (false, 20_000, 100_000.0, 0.85),
            (true, 20_000, 90_000.0, 0.85),
            (false, 50, 100_000.0, 0.5),
            (true, 50, 100_000.0, 0.85),
        ] {
            let (rates, queued) = rates(arrives, one_way_us, standing);
            let (alone, beside, after) = (
                mean(&rates[4..10]),
                mean(&rates[14..20]),
                mean(&rates[25..40]),
            );
            let shown = format!(
                "arrives {arrives}, {one_way_us} us, {standing} bytes at first: {rates:.2?}, {queued:.0} bytes queued"
            );
            assert!(alone > filled && alone < 1.02, "{shown}");
            assert!(queued < 20_000.0, "{shown}");
            assert!(beside < 0.05, "{shown}");
            assert!(after > filled && after < 1.02, "{shown}");
        }
    }

    /// Moves as much as the rates let pass over a path of 40 ms, whose link is never full, and takes each reply `late_us` after it came,
    /// when the next echo may have left. Returns what is told in the end.
    fn told_late(arrives: bool, late_us: u32) -> Told {
        let mut bytes = Bytes::default();
        let none = Parameters::default();
        let mut state = Aggregate::new(&none, arrives, 40_000, 40_000, &bytes, 100_000);
        let mut waiting = VecDeque::new();
        let mut passed = 0.0;
        for now_us in (40_000..1_000_000).step_by(1000) {
            passed += (state.told().rate as f64).min(LINK) / 1e3;
            (bytes.arrived, bytes.passed) = (passed as u64, passed as u64);
            if now_us % 10_000 == 0 {
                waiting.push_back((now_us + 40_000, state.on_echo(now_us, &bytes)));
            }
            while waiting
                .front()
                .is_some_and(|(at, _)| at + late_us <= now_us)
            {
                let (at, echo) = waiting.pop_front().unwrap();
                state.on_reply(&echo, at, now_us, &bytes, 0);
            }
        }
        state.told()
    }

    #[test]
    fn a_reply_that_is_taken_late_shows_no_higher_rate() {
        for late_us in [0, 15_000, 30_000] {
            let told = told_late(true, late_us);
            assert!(told.packet_ns > 1_150_000, "{late_us}: {told:?}");
        }
    }

    #[test]
    fn a_reply_that_is_taken_after_the_next_echo_lets_the_group_grow() {
        for arrives in [false, true] {
            let told = told_late(arrives, 15_000);
            assert!(told.rate as f64 > LINK, "{told:?}");
        }
    }

    #[test]
    fn a_group_with_little_to_move_gets_no_higher_rate() {
        let none = Parameters::default();
        let mut bytes = Bytes::default();
        let mut state = Aggregate::new(&none, false, 40_000, 40_000, &bytes, 100_000);
        let before = state.told().rate;
        for number in 1..200_u32 {
            let echo = state.on_echo(number * 80_000, &bytes);
            bytes.passed += 2_000;
            let now_us = number * 80_000 + 40_000;
            state.on_reply(&echo, now_us, now_us, &bytes, 0);
        }
        assert!(state.told().rate <= before, "{:?}", state.told());
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The netnice control against numbers computed by hand from its rules.

mod any_acks;
mod clocks;
mod gaps;
mod losses;
mod peers;
mod trains;
mod trials;

use std::time::Duration;

use netnice_congestion::congestion_control::CaState;
use netnice_congestion::netnice::{Ack, NetNice};
use netnice_parameters::ControlParameters;
use netnice_parameters::exchange::{Parameters, Phase, Signal};

const MINIMUM_RTT_US: u32 = 40_000;
/// Transmission time of a packet at 10 Mb/s.
const PACKET_US: u32 = 1_200;

/// A connection to which tests feed queueing delays, one ACK of two packets at a time.
struct Connection {
    control: NetNice,
    now_us: u32,
    delivered: u32,
    cwnd: u32,
}

impl Connection {
    fn new(cwnd: u32) -> Self {
        Self {
            control: NetNice::new(&Parameters::default()),
            now_us: 5_000_000,
            delivered: 0,
            cwnd,
        }
    }

    fn ack(&mut self, queue_us: u32) -> Ack {
        self.now_us += 2 * PACKET_US;
        self.delivered += 2;
        let in_flight = self.cwnd.saturating_sub(2);
        Ack {
            now_us: self.now_us,
            sample_rtt_us: MINIMUM_RTT_US + queue_us,
            tsval: (self.now_us - MINIMUM_RTT_US / 2) / 1000,
            acked: 2,
            in_flight,
            delivered: self.delivered,
            prior_delivered: self.delivered.saturating_sub(in_flight + 2),
            rate_delivered: 10,
            rate_interval_us: 10 * PACKET_US,
            cwnd: self.cwnd,
            has_timestamp: false,
            ..Ack::default()
        }
    }

    fn step(&mut self, queue_us: u32) -> u32 {
        let ack = self.ack(queue_us);
        self.cwnd = self.control.on_ack(&ack);
        self.cwnd
    }

    /// Steps with one queueing delay until the window shrinks.
    fn until_back_off(&mut self, queue_us: u32) -> u32 {
        for _ in 0..1000 {
            let before = self.cwnd;
            if self.step(queue_us) < before {
                return self.cwnd;
            }
        }
        panic!("no back-off at {queue_us} us");
    }

    fn phase(&self) -> Phase {
        self.control.report().phase()
    }

    /// A connection in congestion avoidance, with a queue that has long been empty.
    fn settled(cwnd: u32) -> Self {
        let mut connection = Self::new(cwnd);
        connection.step(0);
        connection.until_back_off(20_000);
        for _ in 0..40 {
            connection.step(0);
            connection.cwnd = cwnd;
        }
        assert_eq!(connection.phase(), Phase::Avoidance);
        connection
    }
}

#[test]
fn slow_start_doubles_and_leaves_at_the_first_queue() {
    let mut connection = Connection::new(10);
    assert_eq!(connection.step(0), 12);
    assert_eq!(connection.step(0), 14);
    // min_rtt / packet = 40 / 1.2 = 33.3, so at most 34; half of 14 is less.
    assert_eq!(connection.until_back_off(5_000), 7);
    assert_eq!(connection.phase(), Phase::Inference);
}

#[test]
fn the_threshold_is_one_and_a_half_packets_or_its_floor() {
    let mut connection = Connection::new(10);
    for _ in 0..10 {
        connection.step(0);
    }
    assert_eq!(connection.control.report().threshold_us, PACKET_US * 3 / 2);
    let parameters = ControlParameters::new().with("threshold_us", 5_000_u32);
    let parameters = netnice_parameters::kernel_parameters("netnice", &parameters).unwrap();
    connection = Connection::new(10);
    connection.control = NetNice::new(&parameters);
    for _ in 0..10 {
        connection.step(0);
    }
    assert_eq!(connection.control.report().threshold_us, 5_000);
}

#[test]
fn back_off_takes_its_part_of_the_queue_and_a_little_more() {
    let mut connection = Connection::settled(40);
    // 40 * 10 / (40 + 10) = 8 packets of the queue, and 40 / 32 = 1.25, rounded either way.
    let cwnd = connection.until_back_off(10_000);
    assert!(cwnd == 31 || cwnd == 30, "{cwnd}");
    assert_eq!(connection.phase(), Phase::Inference);
}

#[test]
fn back_off_leaves_what_waits_on_the_way_back() {
    // 10 ms of queue on the way there, 200 ms on the way back, and timestamps that tell them apart.
    let mut connection = Connection::new(400);
    let mut step = |there_us, back_us| {
        let ack = connection.ack_both_ways(there_us, back_us);
        let cwnd = connection.control.on_ack(&ack);
        connection.cwnd = 400;
        cwnd
    };
    // The first indication ends slow start; then rounds without a queue.
    step(0, 0);
    while step(20_000, 0) >= 400 {}
    for _ in 0..1000 {
        step(0, 200_000);
    }
    let cwnd = (0..1000)
        .map(|_| step(10_000, 200_000))
        .find(|&cwnd| cwnd < 400);
    // 400 * 10 / (40 + 200 + 10) = 16 packets of the queue, and 400 / 32 = 12.5 more; the clock's tick is a tenth of the queue.
    assert!((366..=375).contains(&cwnd.unwrap()), "{cwnd:?}");
}

#[test]
fn a_queue_that_stays_ends_in_yielding() {
    let mut connection = Connection::settled(40);
    connection.until_back_off(10_000);
    // Within the inference time-out the window is at least halved, and then yielded.
    assert!(connection.until_back_off(10_000) <= 15);
    let mut reactions = 0;
    while connection.phase() != Phase::Yielding {
        connection.until_back_off(10_000);
        reactions += 1;
        assert!(reactions <= 3, "still at {}", connection.cwnd);
    }
    assert!(connection.cwnd <= 4);
    assert_eq!(connection.control.report().yields, 1);
}

/// Returns the packets that a queue after a back-off takes to reduce the window again, and the phase then.
fn recurrence(cwnd: u32, queue_us: u32) -> (u32, Phase) {
    let mut connection = Connection::settled(cwnd);
    connection.until_back_off(10_000);
    let reaction = connection.delivered;
    connection.until_back_off(queue_us);
    (connection.delivered - reaction, connection.phase())
}

#[test]
fn a_recurrence_of_many_packets_is_yielded_to_at_once() {
    // The window is 30 or 31 packets then. Those after the reaction count: a quarter of them where more than 12 packets, 14.4 ms,
    // wait, else seven eighths.
    let (packets, phase) = recurrence(40, 14_500);
    assert!((36..=42).contains(&packets), "{packets}");
    assert_eq!(phase, Phase::Yielding);
    let (packets, phase) = recurrence(40, 14_300);
    assert!((56..=62).contains(&packets), "{packets}");
    assert_eq!(phase, Phase::Inference);
    // 46 or 47 packets are more than the path holds, 34, and a quarter: a queue on the way back explains them.
    assert_eq!(recurrence(60, 14_500).1, Phase::Inference);
}

#[test]
fn a_queue_that_no_small_window_makes_is_yielded_to() {
    // Its part of a queue of 2.4 ms is 5 * 2.4 / 42.4 = 0.3 packets, so that a back-off removes nothing. With ACKs of two packets
    // a round has four, and the next indication, of five or more, is complete as the second round ends.
    let mut connection = Connection::settled(5);
    for _ in 0..20 {
        let ack = connection.ack(2_400);
        let prior_delivered = ack.delivered - 4;
        connection.cwnd = connection.control.on_ack(&Ack {
            prior_delivered,
            ..ack
        });
    }
    assert_eq!(connection.phase(), Phase::Yielding);
}

#[test]
fn one_window_of_samples_is_needed() {
    let mut connection = Connection::settled(40);
    // Seven eighths of 40 packets, two per ACK: the 18th ACK in a row.
    for _ in 0..17 {
        assert_eq!(connection.step(10_000), 40);
    }
    // One packet that met no queue restarts the count.
    connection.step(0);
    connection.cwnd = 40;
    for _ in 0..17 {
        assert_eq!(connection.step(10_000), 40);
    }
    assert!(connection.step(10_000) < 40);
}

/// Round-trip time of packets while others use the link.
const BUSY_RTT: Duration = Duration::from_millis(90);

impl Connection {
    /// Yields to a queue of 50 ms.
    fn yielding() -> Self {
        let mut connection = Self::settled(40);
        while connection.phase() != Phase::Yielding {
            connection.until_back_off(50_000);
        }
        connection
    }

    /// Acknowledges all `packets` in flight, `after` the last ACK.
    fn probe(&mut self, packets: u32, after: Duration, queue_us: u32) -> u32 {
        self.now_us += after.as_micros() as u32;
        let ack = Ack {
            acked: packets,
            in_flight: 0,
            prior_delivered: self.delivered,
            ..self.ack(queue_us)
        };
        self.cwnd = self.control.on_ack(&ack);
        self.cwnd
    }

    /// Acknowledges two packets that left together, `after` the last ACK; in that time the lone packet of a long pause, too, if
    /// one is to leave.
    fn pair(&mut self, after: Duration, queue_us: u32) {
        let end_us = self.now_us + after.as_micros() as u32;
        if self.control.burst_packets() == 1 {
            self.probe(1, Duration::ZERO, queue_us);
        }
        let rest = Duration::from_micros((end_us - self.now_us).into());
        self.probe(2, rest, queue_us);
    }

    /// Returns the interval between bursts.
    fn pause(&self) -> Duration {
        let burst = self.control.burst_packets();
        self.control.pacing_interval(burst, BUSY_RTT)
    }

    /// Sends a pair, then a lone packet followed by a pause, `times` times; returns the pauses.
    fn find_others(&mut self, times: usize) -> Vec<Duration> {
        let mut pauses = Vec::new();
        for time in 0..times as u32 {
            let queue_us = 50_000 + time % 2 * 20_000;
            assert_eq!(self.probe(2, 2 * BUSY_RTT, queue_us), 1, "a lone packet");
            assert_eq!(self.control.burst_packets(), 1);
            pauses.push(self.pause());
            assert_eq!(self.probe(1, self.pause(), 50_000), 4, "a probe");
            assert_eq!(self.control.burst_packets(), 2);
        }
        pauses
    }
}

#[test]
fn probes_while_yielding_become_rarer() {
    let mut connection = Connection::yielding();
    let mut round_trips = Vec::new();
    for round in 0..4 {
        round_trips.push(connection.pause().as_millis() / BUSY_RTT.as_millis());
        connection.probe(2, connection.pause(), 50_000 + round * 10_000);
    }
    assert_eq!(round_trips, [1, 2, 4, 8]);
    // The fourth probe met others after the longest pause. The next pause is a sixteenth longer: 8 * 90 ms * 17 / 16.
    assert_eq!(connection.cwnd, 1);
    assert_eq!(connection.pause(), Duration::from_millis(765));
    // The control waits for the result of the next probe.
    connection.probe(1, connection.pause(), 50_000);
    assert_eq!(connection.pause(), 2 * BUSY_RTT);
    assert_eq!(connection.cwnd, 4);
}

#[test]
fn no_pause_that_round_trips_alone_make_is_longer_than_a_second() {
    let mut connection = Connection::yielding();
    for round in 0..3 {
        connection.probe(2, Duration::from_secs(1), 50_000 + round * 10_000);
    }
    let pause = connection
        .control
        .pacing_interval(2, Duration::from_millis(400));
    assert_eq!(pause, Duration::from_secs(1));
}

#[test]
fn a_queue_of_seconds_that_has_gone_keeps_no_probes_apart() {
    let mut connection = Connection::yielding();
    let mut pause_after = |queue_us| {
        connection.probe(2, Duration::from_secs(1), queue_us);
        connection
            .control
            .pacing_interval(2, Duration::from_secs(5))
    };
    // The smoothed round trip is 5 s all the time; the smallest one is 40 ms.
    assert_eq!(pause_after(3_000_000), Duration::from_millis(3_040));
    assert_eq!(pause_after(0), Duration::from_secs(1));
}

#[test]
fn a_pause_is_a_sixteenth_of_the_time_for_which_others_have_been_there() {
    let mut connection = Connection::yielding();
    for round in 0..3 {
        connection.probe(2, connection.pause(), 50_000 + round * 10_000);
    }
    let first = 8 * BUSY_RTT;
    let pauses = connection.find_others(40);
    let mut yielded = Duration::ZERO;
    for pause in pauses {
        if pause < Duration::from_secs(5) {
            let expected = first + (yielded + first) / 16;
            let error = pause.abs_diff(expected);
            assert!(error < expected / 20, "{pause:?} after {yielded:?}");
        }
        assert!(pause <= Duration::from_secs(5));
        yielded += pause;
    }
    assert_eq!(connection.find_others(1), [Duration::from_secs(5)]);
}

#[test]
fn no_window_makes_a_long_pause_a_short_one() {
    let mut connection = Connection::yielding();
    for round in 0..4 {
        connection.probe(2, connection.pause(), 50_000 + round * 10_000);
    }
    connection.probe(1, connection.pause(), 50_000);
    // The longest is 5 s: of 859 packets and more the product of both exceeds 32 bits.
    let pauses = connection.find_others(60);
    let longest = pauses.into_iter().max().unwrap();
    assert!(longest > Duration::from_secs(4), "{longest:?}");
    connection.probe(2, 2 * BUSY_RTT, 50_000);
    let over =
        [1, 858, 859, 900, 5_000].map(|cwnd| connection.control.pacing_interval(cwnd, BUSY_RTT));
    assert!(over.is_sorted(), "{over:?}");
}

#[test]
fn an_rto_while_yielding_makes_no_larger_window_than_a_probe_s() {
    let mut connection = Connection::yielding();
    connection.cwnd = 1;
    for _ in 0..40 {
        let ack = Ack {
            ca_state: CaState::Loss,
            ..connection.ack(0)
        };
        connection.cwnd = connection.control.on_ack(&ack);
    }
    assert_eq!(connection.cwnd, 4);
}

#[test]
fn however_long_others_have_been_there_four_clean_probes_follow_each_other_quickly() {
    let mut connection = Connection::yielding();
    for round in 0..3 {
        connection.probe(2, connection.pause(), 50_000 + round * 10_000);
    }
    connection.find_others(60);
    // Intervals of two round trips after the first clean probe, then 4, 2.
    for round_trips in [2, 4, 2] {
        assert_eq!(connection.pause(), round_trips * BUSY_RTT);
        assert_eq!(connection.probe(2, connection.pause(), 0), 4);
        assert_eq!(connection.phase(), Phase::Yielding);
    }
    connection.probe(2, connection.pause(), 0);
    assert_eq!(connection.phase(), Phase::SlowStart);
}

#[test]
fn a_lone_packet_that_waited_in_the_receiver_does_not_lengthen_the_pause() {
    let mut connection = Connection::yielding();
    for round in 0..3 {
        connection.probe(2, connection.pause(), 50_000 + round * 10_000);
    }
    let pauses = connection.find_others(2);
    // 720 ms * 17 / 16, then once more.
    assert_eq!(pauses[0], Duration::from_millis(765));
    assert_eq!(pauses[1].as_micros(), 720_000 * 289 / 256);
}

#[test]
fn four_probes_in_a_row_that_meet_no_queue_end_a_yielding() {
    let mut connection = Connection::settled(40);
    while connection.phase() != Phase::Yielding {
        connection.until_back_off(50_000);
    }
    // Three, and then one that meets a queue: the count restarts.
    for queue_us in [0, 0, 0, 50_000, 0, 0, 0] {
        connection.cwnd = 2;
        connection.step(queue_us);
        assert_eq!(connection.phase(), Phase::Yielding);
    }
    connection.cwnd = 2;
    connection.step(0);
    assert_eq!(connection.phase(), Phase::SlowStart);
    // 34 packets fill the path: slow start up to 8, then a packet for every four acknowledged.
    connection.cwnd = 6;
    assert_eq!(connection.step(0), 8);
    let windows = [connection.step(0), connection.step(0), connection.step(0)];
    assert!(windows[2] == 9 || windows[2] == 10, "{windows:?}");
}

#[test]
fn one_clean_probe_ends_a_yielding_where_delays_vary() {
    let probes = |jitter_us: u32| {
        let mut connection = Connection::settled(20);
        // A range of twice `jitter_us` within a round, less two packets.
        for sample in 0..1_000 {
            connection.step([0, jitter_us, 2 * jitter_us, jitter_us][sample % 4]);
            connection.cwnd = 20;
        }
        while connection.phase() != Phase::Yielding {
            connection.until_back_off(50_000);
        }
        (1..10)
            .find(|_| {
                connection.cwnd = 2;
                connection.step(0);
                connection.phase() != Phase::Yielding
            })
            .expect("it ends")
    };
    assert_eq!(probes(0), 4);
    // 2.4 ms less than 4 ms are less than twice the floor, 1 ms, and one and a half packets of 1.2 ms.
    assert_eq!(probes(2_000), 4);
    assert_eq!(probes(8_000), 1);
}

#[test]
fn what_differs_within_every_round_is_jitter_and_raises_the_threshold() {
    let mut connection = Connection::settled(20);
    assert_eq!(connection.control.report().threshold_us, PACKET_US * 3 / 2);
    // 0, 4, 8, 4 ms: a range of 8 ms within a round of ten ACKs, minus two packets 5.6 ms, and twice that.
    for round in 0..100 {
        for sample in 0..12 {
            connection.step([0, 4_000, 8_000, 4_000][(sample + round) % 4]);
            connection.cwnd = 20;
        }
    }
    let threshold_us = connection.control.report().threshold_us;
    assert!((11_000..=11_400).contains(&threshold_us), "{threshold_us}");
    // Bursts in one round of seven do not raise it: it falls by a quarter per round and rises by a sixteenth.
    let mut connection = Connection::settled(20);
    for round in 0..100 {
        for _ in 0..12 {
            connection.step(if round % 7 == 0 { 8_000 } else { 0 });
            connection.cwnd = 20;
        }
    }
    let threshold_us = connection.control.report().threshold_us;
    assert!(threshold_us < 3 * PACKET_US, "{threshold_us}");
}

#[test]
fn back_off_leaves_what_jitter_takes() {
    let mut connection = Connection::settled(40);
    // 0, 8, 16, 8 ms: a range of 16 ms in each round, minus two packets 13.6 ms.
    for sample in 0..10_000 {
        connection.step([0, 8_000, 16_000, 8_000][sample % 4]);
        connection.cwnd = 200;
    }
    // Three quarters of what is over four packets, 6.6 ms, is jitter: of 40 ms 200 * 33.4 / 73.4 = 91 packets are the queue's,
    // not 100; and 200 / 32 = 6.25. The round of the back-off has a wider range, of which the estimate takes a sixteenth.
    let cwnd = connection.until_back_off(40_000);
    assert!((102..=106).contains(&cwnd), "{cwnd}");
}

impl Connection {
    /// Receives an ACK whose round trip was shorter than the smallest before, by 4 ms.
    fn early(&mut self) {
        let mut ack = self.ack(0);
        ack.sample_rtt_us -= 4_000;
        self.control.on_ack(&ack);
    }

    /// Returns the queueing delay of a round whose samples are those of the smallest round trip at first.
    fn usual(&mut self) -> u32 {
        for _ in 0..80 {
            self.step(0);
            self.cwnd = 40;
        }
        self.control.report().delay_over_minimum_us
    }
}

#[test]
fn a_packet_that_came_early_does_not_set_the_minimum() {
    let mut connection = Connection::settled(40);
    for _ in 0..10 {
        connection.early();
        assert_eq!(connection.usual(), 0);
    }
    connection.early();
    connection.early();
    assert_eq!(connection.usual(), 0);
    // Three in a row are a shorter path.
    for _ in 0..3 {
        connection.early();
    }
    assert_eq!(connection.usual(), 4_000);
}

#[test]
fn while_yielding_one_sample_sets_the_minimum() {
    let mut connection = Connection::yielding();
    let mut ack = connection.ack(0);
    (ack.in_flight, ack.prior_delivered) = (0, connection.delivered - 2);
    ack.sample_rtt_us -= 4_000;
    connection.control.on_ack(&ack);
    connection.probe(2, BUSY_RTT, 50_000);
    assert_eq!(connection.control.report().delay_over_minimum_us, 54_000);
}

#[test]
fn whole_ticks_of_a_retransmission_set_no_minimum() {
    // Its round trip is known by its timestamp, rounded down to a millisecond.
    let mut connection = Connection::yielding();
    let ack = Ack {
        in_flight: 0,
        sample_rtt_us: MINIMUM_RTT_US - 1_000,
        retransmitted: true,
        prior_delivered: connection.delivered,
        ..connection.ack(0)
    };
    connection.control.on_ack(&ack);
    connection.probe(2, BUSY_RTT, 50_000);
    assert_eq!(connection.control.report().delay_over_minimum_us, 50_000);
}

#[test]
fn where_the_delay_comes_from_is_reported() {
    for (has_timestamp, signal) in [(true, Signal::OneWayDelay), (false, Signal::RoundTrip)] {
        let mut connection = Connection::new(10);
        let ack = Ack {
            has_timestamp,
            ..connection.ack(0)
        };
        connection.control.on_ack(&ack);
        assert_eq!(connection.control.report().signal(), signal);
    }
}

#[test]
fn the_last_reaction_may_be_any_number_of_packets_ago() {
    for steps in 1..4 {
        let mut connection = Connection::settled(40);
        for _ in 0..steps {
            connection.delivered += 1 << 30;
            connection.step(0);
        }
        connection.cwnd = 40;
        for _ in 0..200 {
            connection.step(0);
        }
        assert!(connection.cwnd > 40, "{steps}: {}", connection.cwnd);
        let before = connection.cwnd;
        assert!(connection.until_back_off(10_000) < before);
    }
}

/// Loses a packet while it meets `queue_us`, and recovers.
fn lose(connection: &mut Connection, queue_us: u32) -> u32 {
    let mut ack = connection.ack(queue_us);
    ack.ca_state = CaState::Recovery;
    connection.cwnd = connection.control.on_ack(&ack);
    let after = connection.cwnd;
    connection.step(queue_us);
    after
}

#[test]
fn a_window_beyond_the_path_is_paced_at_the_link_s_rate() {
    let connection = Connection::settled(40);
    let pacing = |cwnd, rtt_ms| {
        let interval = connection
            .control
            .pacing_interval(cwnd, Duration::from_millis(rtt_ms));
        interval.as_micros() as u32
    };
    // 34 packets fill the path.
    assert_eq!(pacing(68, 48), 45_000);
    let packet_us = pacing(96, 48) / 96;
    assert_eq!(packet_us, PACKET_US - PACKET_US / 16);
    // With half a round trip of queues a little less: (1200 + 100) * 15 / 16.
    assert_eq!(pacing(96, 72) / 96, 1_218);
    // While the way back has its queue, ACKs are slower than that.
    assert_eq!(pacing(96, 480), 450_000);
}

#[test]
fn pacing_leaves_room_to_see_a_faster_link() {
    // A link of 200 kb/s takes 60 ms for a packet, and one round trip of 40 ms is less than that.
    let slow_us = 60_000;
    let mut connection = Connection::new(4);
    for queue_us in [[0; 4], [200_000; 4], [200_000; 4]].concat() {
        let mut ack = connection.ack(queue_us);
        ack.rate_delivered = 4;
        ack.rate_interval_us = 4 * slow_us;
        connection.cwnd = connection.control.on_ack(&ack);
        if connection.phase() != Phase::SlowStart {
            break;
        }
    }
    assert_eq!(connection.phase(), Phase::Inference);
    let pacing = |cwnd| {
        connection
            .control
            .pacing_interval(cwnd, Duration::from_micros(MINIMUM_RTT_US.into()))
    };
    // Two rate samples of four packets a round trip, at 16/15 of that.
    assert_eq!(pacing(64), Duration::from_micros(8 * 37_500));
}

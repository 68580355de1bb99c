// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls: speech over UDP, and the de-jitter buffer of its receiver.

use std::time::Duration;

use netnice_queue::Time;
use netnice_results::{CallQuality, Codec, mean_opinion_score, rating};

use netnice_queue::random::Stream;

use super::{Source, Write};

/// Packets of one size, each a fixed time after the one before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Call {
    /// Time from one packet to the next, not zero.
    pub interval: Duration,
    /// Bytes of each packet, headers included.
    pub packet_bytes: u32,
    /// The receiver plays the first packet so long after its arrival.
    pub playout_delay: Duration,
    /// Impairments of the codec.
    pub codec: Codec,
}

impl Source for Call {
    fn largest_packet(&self) -> u32 {
        self.packet_bytes
    }

    fn writes(&self, start: Time, _stream: Stream) -> Box<dyn Iterator<Item = Write> + Send> {
        let Call {
            interval,
            packet_bytes: bytes,
            ..
        } = *self;
        let times = std::iter::successors(Some(start), move |&at| Some(at + interval));
        Box::new(times.map(move |at| Write { at, bytes }))
    }

    fn call_receiver(&self, start: Time) -> Option<CallReceiver> {
        Some(CallReceiver {
            call: *self,
            start,
            latest_ns: None,
            fates: Vec::new(),
        })
    }
}

/// Fate of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    UnderWay,
    /// It arrived in time to be played.
    Played,
    /// It arrived after its playout time.
    Late,
    Dropped,
}

/// The receiving end of a call: a de-jitter buffer whose delay the first packet sets.
#[derive(Debug, Clone)]
pub struct CallReceiver {
    call: Call,
    start: Time,
    /// The one-way delay of a packet that arrives just at its playout time, in nanoseconds.
    latest_ns: Option<u64>,
    /// By the packet's number; those beyond the end are under way.
    fates: Vec<Fate>,
}

impl CallReceiver {
    /// A packet that was sent at `sent` has arrived.
    pub fn arrived(&mut self, now: Time, sent: Time) {
        let delay_ns = now.as_nanos() - sent.as_nanos();
        let playout_ns = nanos(self.call.playout_delay);
        let latest_ns = *self
            .latest_ns
            .get_or_insert(delay_ns.saturating_add(playout_ns));
        let fate = match delay_ns <= latest_ns {
            true => Fate::Played,
            false => Fate::Late,
        };
        self.note(sent, fate);
    }

    /// A packet that was sent at `sent` was dropped on the way.
    pub fn dropped(&mut self, sent: Time) {
        self.note(sent, Fate::Dropped);
    }

    fn note(&mut self, sent: Time, fate: Fate) {
        let number = (sent.as_nanos() - self.start.as_nanos()) / nanos(self.call.interval).max(1);
        let number = number as usize;
        if number >= self.fates.len() {
            self.fates.resize(number + 1, Fate::UnderWay);
        }
        self.fates[number] = fate;
    }

    /// The quality of the call, of which `sent` packets have left, by those that were sent from `from` on and had to be
    /// played by `to`.
    pub fn quality(&self, sent: u64, from: Time, to: Time) -> CallQuality {
        let interval_ns = nanos(self.call.interval).max(1);
        let playout_ns = nanos(self.call.playout_delay);
        let latest_ns = self.latest_ns.unwrap_or(playout_ns);
        let since_start = |time: Time| time.as_nanos().saturating_sub(self.start.as_nanos());
        let first = since_start(from).div_ceil(interval_ns);
        let due = to.as_nanos().checked_sub(latest_ns).map(Time::from_nanos);
        let last = due.filter(|&due| due >= self.start);
        let end = last.map_or(0, |last| since_start(last) / interval_ns + 1);
        let mut quality = CallQuality::default();
        // A burst is a run of packets that are not played (BurstR of G.107 section 7.5).
        let (mut bursts, mut in_burst) = (0u64, false);
        for number in first..end.min(sent) {
            let fate = self.fates.get(number as usize);
            quality.packets += 1;
            match fate {
                Some(Fate::Played) => {}
                Some(Fate::Dropped) => quality.lost += 1,
                Some(Fate::Late | Fate::UnderWay) | None => quality.late += 1,
            }
            let played = fate == Some(&Fate::Played);
            bursts += u64::from(!played && !in_burst);
            in_burst = !played;
        }
        if quality.packets == 0 {
            return quality;
        }
        let unplayed = quality.lost + quality.late;
        let loss = unplayed as f64 / quality.packets as f64;
        // The mean length of bursts divided by that of random losses, 1 / (1 - loss).
        quality.burst_ratio = match bursts {
            0 => 1.0,
            bursts => (unplayed as f64 / bursts as f64 * (1.0 - loss)).max(1.0),
        };
        // A packet leaves with its last sample and is played from its first one on, so that each sample takes an interval
        // more than the packet.
        quality.mouth_to_ear_s = (interval_ns + latest_ns) as f64 * 1e-9;
        quality.rating = rating(
            self.call.codec,
            quality.mouth_to_ear_s,
            loss,
            quality.burst_ratio,
        );
        quality.mos = mean_opinion_score(quality.rating);
        quality
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CALL: Call = Call {
        interval: Duration::from_millis(20),
        packet_bytes: 200,
        playout_delay: Duration::from_millis(60),
        codec: Codec { ie: 0.0, bpl: 25.1 },
    };

    fn ms(time: u64) -> Time {
        Time::from_millis(time)
    }

    #[test]
    fn packets_leave_at_the_interval() {
        let times: Vec<u64> = CALL
            .writes(ms(7), Stream::new(1, "call"))
            .take(3)
            .map(|write| write.at.as_nanos() / 1_000_000)
            .collect();
        assert_eq!(times, [7, 27, 47]);
    }

    /// Ten packets from 100 ms on. The first takes 30 ms, so those that take up to 90 ms are in time.
    #[test]
    fn packets_after_their_playout_time_count_as_lost() {
        let mut receiver = CALL.call_receiver(ms(100)).unwrap();
        for (number, delay) in [
            (0, 30),
            (1, 90),
            (2, 91),
            (4, 30),
            (6, 20),
            (7, 89),
            (8, 30),
        ] {
            let sent = ms(100 + 20 * number);
            receiver.arrived(sent + Duration::from_millis(delay), sent);
        }
        receiver.dropped(ms(100 + 20 * 3));
        receiver.dropped(ms(100 + 20 * 5));
        // Packet 8 is due at 350 ms; packet 9, at 370 ms, has not arrived.
        let quality = receiver.quality(10, ms(0), ms(350));
        assert_eq!((quality.packets, quality.lost, quality.late), (9, 2, 1));
        assert_eq!(quality.mouth_to_ear_s, 0.110);
        // Bursts of two and of one: 1.5 packets, where random losses of a third of the packets come in 1.5.
        assert!((quality.burst_ratio - 1.0).abs() < 1e-12);
        let later = receiver.quality(10, ms(0), ms(400));
        assert_eq!((later.packets, later.lost, later.late), (10, 2, 2));
        // From 121 ms on without the first two.
        let part = receiver.quality(10, ms(121), ms(350));
        assert_eq!((part.packets, part.lost, part.late), (7, 2, 1));
    }

    /// Of 100 packets 98 are played at a delay of 110 ms: X = log2(1.1) = 0.1375 leaves Idd at 0, Ie-eff is
    /// 95 * 2 / (2 / 1.96 + 25.1) = 7.2740 for the burst of two.
    #[test]
    fn a_burst_has_its_ratio_and_its_score() {
        let mut receiver = CALL.call_receiver(ms(0)).unwrap();
        for number in 0..100 {
            let sent = ms(20 * number);
            match number {
                50 | 51 => receiver.dropped(sent),
                _ => receiver.arrived(sent + Duration::from_millis(30), sent),
            }
        }
        let quality = receiver.quality(100, ms(0), ms(10_000));
        assert!((quality.burst_ratio - 1.96).abs() < 1e-12);
        assert!(
            (quality.rating - (93.2 - 7.2740)).abs() < 1e-3,
            "{quality:?}"
        );
        assert!((quality.mos - 4.227).abs() < 1e-3, "{quality:?}");
    }

    #[test]
    fn a_call_that_nobody_hears_has_the_lowest_scores() {
        let mut receiver = CALL.call_receiver(ms(0)).unwrap();
        receiver.dropped(ms(0));
        let quality = receiver.quality(1, ms(0), ms(1000));
        assert_eq!((quality.packets, quality.lost), (1, 1));
        // 95 * 100 / (100 + 25.1) = 75.94.
        assert!((quality.rating - 17.26).abs() < 0.01, "{quality:?}");
        assert_eq!(receiver.quality(0, ms(0), ms(1000)).packets, 0);
    }
}

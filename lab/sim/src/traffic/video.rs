// SPDX-License-Identifier: MIT OR Apache-2.0
//! Video by chunks over TCP, at a bit rate that the player chooses by its buffer.
//!
//! The choice is BBA-0 of Huang et al., "A Buffer-Based Approach to Rate Adaptation: Evidence from a Large Video Streaming
//! Service", SIGCOMM 2014, algorithm 1.

use std::sync::Arc;
use std::time::Duration;

use netnice_queue::{Rate, Time};
use netnice_results::VideoQuality;

use netnice_queue::random::Stream;

use super::{Source, Write};

/// A video and its player.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Video {
    /// The bit rates in which there are chunks, ascending, at least one.
    pub ladder: Arc<[Rate]>,
    /// Video in a chunk, not zero.
    pub chunk: Duration,
    /// The player begins to play, and goes on after a stall, with so much video in its buffer.
    pub start_up: Duration,
    /// The player asks for no chunk for which its buffer has no room: at least `start_up` and a chunk.
    pub max_buffer: Duration,
    /// r of the paper: up to so much video in the buffer the lowest rate is chosen.
    pub reservoir: Duration,
    /// cu of the paper: the rate rises from the lowest at `reservoir` to the highest at so much video more.
    pub cushion: Duration,
}

impl Source for Video {
    fn largest_packet(&self) -> u32 {
        0
    }

    /// The server writes when it is asked.
    fn writes(&self, _start: Time, _stream: Stream) -> Box<dyn Iterator<Item = Write> + Send> {
        Box::new(std::iter::empty())
    }

    fn player(&self, start: Time) -> Option<Player> {
        Some(Player::new(self.clone(), start))
    }
}

impl Video {
    /// The bytes of a chunk of the rate with this number.
    fn chunk_bytes(&self, rate: usize) -> u64 {
        let bits = u128::from(self.ladder[rate].bits_per_second()) * self.chunk.as_nanos();
        u64::try_from(bits / 8_000_000_000)
            .unwrap_or(u64::MAX)
            .max(1)
    }

    /// f(B) of the paper: the rate, in bits per second, that a buffer of so much video affords.
    fn affords(&self, buffer: Duration) -> f64 {
        let (lowest, highest) = (self.ladder[0], self.ladder[self.ladder.len() - 1]);
        let above = buffer.saturating_sub(self.reservoir).as_secs_f64();
        let share = (above / self.cushion.as_secs_f64()).min(1.0);
        lowest.as_f64() + share * (highest.as_f64() - lowest.as_f64())
    }

    /// The number of the next chunk's rate after one of number `before`, with so much video in the buffer (algorithm 1).
    pub fn choose(&self, before: usize, buffer: Duration) -> usize {
        let highest = self.ladder.len() - 1;
        if buffer <= self.reservoir {
            return 0;
        }
        if buffer >= self.reservoir + self.cushion {
            return highest;
        }
        let affords = self.affords(buffer);
        let rate = |number: usize| self.ladder[number].as_f64();
        // Rate+ and Rate-.
        let (above, below) = ((before + 1).min(highest), before.saturating_sub(1));
        if affords >= rate(above) {
            // The highest rate below f(B).
            let lower = (0..=highest).rev().find(|&number| rate(number) < affords);
            lower.unwrap_or(0)
        } else if affords <= rate(below) {
            // The lowest rate above f(B).
            let higher = (0..=highest).find(|&number| rate(number) > affords);
            higher.unwrap_or(highest)
        } else {
            before
        }
    }
}

/// A chunk that was asked for.
#[derive(Debug, Clone, Copy)]
struct Chunk {
    asked: Time,
    rate: usize,
    arrived: bool,
}

/// A player at work.
#[derive(Debug, Clone)]
pub struct Player {
    video: Video,
    start: Time,
    /// Video in the buffer at `since`.
    buffer: Duration,
    since: Time,
    playing: bool,
    /// When playing began; `None` before.
    began: Option<Time>,
    /// When playing stopped for want of video, and went on; the last may not have gone on yet.
    stalls: Vec<(Time, Option<Time>)>,
    chunks: Vec<Chunk>,
    /// Bytes of all chunks asked for.
    asked_bytes: u64,
    /// The server has not been handed the chunk asked for last.
    unserved: bool,
    /// No further chunk is asked for, and the video ends with the buffer.
    stopped: bool,
}

impl Player {
    fn new(video: Video, start: Time) -> Player {
        Player {
            video,
            start,
            buffer: Duration::ZERO,
            since: start,
            playing: false,
            began: None,
            stalls: Vec::new(),
            chunks: Vec::new(),
            asked_bytes: 0,
            unserved: false,
            stopped: false,
        }
    }

    /// Asks for a chunk at `now`; false if the player has stopped.
    pub fn ask(&mut self, now: Time) -> bool {
        if self.stopped {
            return false;
        }
        self.pass(now);
        let before = self.chunks.last().map_or(0, |chunk| chunk.rate);
        let rate = self.video.choose(before, self.buffer);
        self.chunks.push(Chunk {
            asked: now,
            rate,
            arrived: false,
        });
        self.asked_bytes += self.video.chunk_bytes(rate);
        self.unserved = true;
        true
    }

    /// The request has come to the server: the bytes that it sends, once for each request.
    pub fn serve(&mut self) -> Option<u64> {
        if !std::mem::take(&mut self.unserved) {
            return None;
        }
        let chunk = self.chunks.last()?;
        Some(self.video.chunk_bytes(chunk.rate))
    }

    /// So many bytes have come to the player by `now`. Once they hold the chunk asked for last: when to ask for the next.
    pub fn received(&mut self, now: Time, bytes: u64) -> Option<Time> {
        if bytes < self.asked_bytes {
            return None;
        }
        let chunk = self.chunks.last_mut().filter(|chunk| !chunk.arrived)?;
        chunk.arrived = true;
        self.pass(now);
        self.buffer += self.video.chunk;
        if !self.playing && self.buffer >= self.video.start_up {
            self.playing = true;
            self.began.get_or_insert(now);
            if let Some((_, end @ None)) = self.stalls.last_mut() {
                *end = Some(now);
            }
        }
        let full = (self.buffer + self.video.chunk).saturating_sub(self.video.max_buffer);
        (!self.stopped).then(|| now + full)
    }

    /// The program ends at `now`: no further chunk is asked for.
    pub fn stop(&mut self, now: Time) {
        self.pass(now);
        self.stopped = true;
    }

    /// Plays up to `now`.
    fn pass(&mut self, now: Time) {
        let (before, passed) = (self.since, now - self.since);
        self.since = now;
        if !self.playing {
            return;
        }
        if passed > self.buffer && !self.stopped {
            self.playing = false;
            // The buffer ran dry in between.
            let dry = before + self.buffer;
            self.stalls.push((dry, None));
        }
        self.buffer = self.buffer.saturating_sub(passed);
    }

    /// Quality that the viewer had from `from` to `to`, the present.
    pub fn quality(&self, from: Time, to: Time) -> VideoQuality {
        let mut player = self.clone();
        player.pass(to);
        let within = |at: Time| at >= from;
        let chunks = || player.chunks.iter().filter(|chunk| within(chunk.asked));
        let arrived: Vec<f64> = chunks()
            .filter(|chunk| chunk.arrived)
            .map(|chunk| player.video.ladder[chunk.rate].as_f64())
            .collect();
        let pairs = player.chunks.windows(2);
        let switches = pairs.filter(|pair| within(pair[1].asked) && pair[0].rate != pair[1].rate);
        let stalled = player.stalls.iter().map(|&(begin, end)| {
            let end = end.unwrap_or(to);
            (end - begin.max(from)).as_secs_f64()
        });
        VideoQuality {
            chunks: arrived.len() as u64,
            mean_rate_bps: match arrived.len() {
                0 => 0.0,
                count => arrived.iter().sum::<f64>() / count as f64,
            },
            switches: switches.count() as u64,
            stalls: player.stalls.iter().filter(|stall| within(stall.0)).count() as u64,
            // A sum of nothing would be -0.
            stalled_s: stalled.fold(0.0, |sum, time| sum + time),
            start_up_s: player
                .began
                .map(|began| (began - player.start).as_secs_f64()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1, 2, 4 and 8 Mb/s; a reservoir of 10 s and a cushion of 14 s, so that f(B) = 1 + 7 (B - 10) / 14 = (B - 8) / 2 Mb/s.
    fn video() -> Video {
        let rate = |megabits: u64| Rate::from_bits_per_second(megabits * 1_000_000).unwrap();
        Video {
            ladder: [1, 2, 4, 8].map(rate).into(),
            chunk: Duration::from_secs(4),
            start_up: Duration::from_secs(4),
            max_buffer: Duration::from_secs(30),
            reservoir: Duration::from_secs(10),
            cushion: Duration::from_secs(14),
        }
    }

    fn seconds(time: f64) -> Time {
        Time::ZERO + Duration::from_secs_f64(time)
    }

    #[test]
    fn the_choice_is_that_of_the_paper() {
        let video = video();
        for (before, buffer, next) in [
            // In the reservoir the lowest; from 24 s on the highest.
            (3, 10.0, 0),
            (0, 24.0, 3),
            (3, 30.0, 3),
            // f(12) = 2: Rate+ of 1 Mb/s is reached, but the highest rate below 2 is 1.
            (0, 12.0, 0),
            // f(12.5) = 2.25: up to 2. f(18) = 5: up by two.
            (0, 12.5, 1),
            (0, 18.0, 2),
            // From 4 Mb/s: f(18) = 5 is below Rate+ = 8 and above Rate- = 2, so it stays.
            (2, 18.0, 2),
            (2, 12.5, 2),
            // f(12) = 2 is Rate-: the lowest rate above 2 is 4. f(11) = 1.5: 2.
            (2, 12.0, 2),
            (2, 11.0, 1),
            // From 8 Mb/s: f(15.9) = 3.95 is below Rate- = 4: the lowest above it is 4.
            (3, 15.9, 2),
            (3, 23.9, 3),
        ] {
            let chosen = video.choose(before, Duration::from_secs_f64(buffer));
            assert_eq!(chosen, next, "from number {before} at {buffer} s");
        }
        // 4 s at 8 Mb/s.
        assert_eq!(video.chunk_bytes(3), 4_000_000);
    }

    #[test]
    fn one_rate_is_always_chosen() {
        let only = Video {
            ladder: video().ladder[..1].into(),
            ..video()
        };
        for buffer in [0, 15, 30] {
            assert_eq!(only.choose(0, Duration::from_secs(buffer)), 0);
        }
    }

    /// Chunks of 1 Mb/s: 500,000 bytes each.
    #[test]
    fn the_buffer_and_its_stalls_by_hand() {
        let mut player = video().player(seconds(10.0)).unwrap();
        assert!(player.ask(seconds(10.0)));
        assert_eq!((player.serve(), player.serve()), (Some(500_000), None));
        assert_eq!(player.received(seconds(10.5), 499_999), None);
        // The first chunk is there at 11 s: 4 s of video, and playing begins.
        assert_eq!(player.received(seconds(11.0), 500_000), Some(seconds(11.0)));
        assert!(player.ask(seconds(11.0)));
        // The second comes at 18 s, 3 s after the buffer ran dry; 4 s are enough to go on.
        assert_eq!(
            player.received(seconds(18.0), 1_000_000),
            Some(seconds(18.0))
        );
        assert!(player.ask(seconds(18.0)));
        let quality = player.quality(Time::ZERO, seconds(18.0));
        assert_eq!(
            (quality.chunks, quality.stalls, quality.switches),
            (2, 1, 0)
        );
        assert_eq!((quality.stalled_s, quality.start_up_s), (3.0, Some(1.0)));
        assert_eq!(quality.mean_rate_bps, 1e6);
        // Without a third chunk it stalls again at 22 s.
        let later = player.quality(Time::ZERO, seconds(24.5));
        assert_eq!((later.stalls, later.stalled_s), (2, 5.5));
        // Measured from 16 s on: 2 s of the first stall, which had begun before.
        let part = player.quality(seconds(16.0), seconds(24.5));
        assert_eq!((part.stalls, part.stalled_s, part.chunks), (1, 4.5, 0));
    }

    #[test]
    fn a_full_buffer_waits_with_the_next_request() {
        let mut player = video().player(Time::ZERO).unwrap();
        let mut bytes = 0;
        // Seven chunks at once: 28 s of video; the eighth has room once 2 s are played.
        let mut next = Time::ZERO;
        for number in 1..=7 {
            assert_eq!(next, Time::ZERO, "before chunk {number}");
            assert!(player.ask(next));
            bytes += player.serve().unwrap();
            next = player.received(Time::ZERO, bytes).unwrap();
        }
        assert_eq!(next, seconds(2.0));
        // At 26 s of video the rate is the highest.
        assert!(player.ask(next));
        assert_eq!(player.serve(), Some(4_000_000));
    }

    #[test]
    fn a_stopped_player_asks_no_more_and_does_not_stall() {
        let mut player = video().player(Time::ZERO).unwrap();
        assert!(player.ask(Time::ZERO));
        let bytes = player.serve().unwrap();
        player.received(seconds(1.0), bytes).unwrap();
        player.stop(seconds(2.0));
        assert!(!player.ask(seconds(2.0)));
        assert_eq!(player.quality(Time::ZERO, seconds(60.0)).stalls, 0);
    }
}

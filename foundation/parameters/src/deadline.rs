// SPDX-License-Identifier: MIT OR Apache-2.0
//! The least rate that a transfer needs to be done at a given time, without I/O: what has been moved and the time go in.
//!
//! As long as there is time enough there is no floor, and the transfer takes what others leave. It gets one when the rate that it
//! needs from then on is a part of the best that it has had: the line can give that much, but not much more beside others.

use std::collections::VecDeque;
use std::time::Duration;

/// Part of the time left in which all is to be done: the floor is a mean over seconds, and the last of them may be bad.
const PART_OF_TIME: f64 = 0.95;
/// Part of the best rate had that calls for a floor: what one gets beside one other flow. In the simulated days of the tests below 0.55
/// misses one deadline of a hundred, and 0.65 four.
const PART_OF_BEST: f64 = 0.5;
/// Rates are means over so long.
const RATE_OVER: Duration = Duration::from_secs(10);
/// A floor that is not reached for a twentieth of the time left, and so long at least and at most, will not be, as it seems.
const VERDICT_PART: f64 = 0.05;
const VERDICT_S: [f64; 2] = [10.0, 300.0];
/// Lateness that is worth a word: a tenth of the time left, and some seconds.
const LATE_PART: f64 = 0.1;
const LATE_S: f64 = 5.0;
/// The end of the time, at which the rate would be infinite.
const LEAST_LEFT_S: f64 = 1.0;

/// A transfer's way to its deadline.
#[derive(Debug)]
pub struct Plan {
    bytes: u64,
    by: Duration,
    /// Times and bytes moved, of the longest time that a rate is taken over and one older.
    seen: VecDeque<(Duration, u64)>,
    /// The highest rate had, in bytes per second.
    best: f64,
    /// The latest floor, in bytes per second; 0 for none.
    floor: f64,
    /// Since when there has been a floor.
    held_since: Option<Duration>,
    told_late: bool,
    told_missed: bool,
}

/// What is so at a moment. Rates are in bytes per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outlook {
    /// The floor; 0 for none.
    pub floor: u64,
    /// The rate that is needed from now on.
    pub needs: f64,
    /// The rate of the last seconds.
    pub has: f64,
    /// What the user is to be told, once.
    pub news: Option<News>,
}

/// Bad news.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum News {
    /// At the rate of late all will be done so long after the deadline.
    WillMiss(Duration),
    /// The deadline has passed.
    Missed,
}

impl Plan {
    /// A transfer of so many bytes until a time on the clock that [`Plan::look`] is given.
    pub fn new(bytes: u64, by: Duration) -> Plan {
        Plan {
            bytes,
            by,
            seen: VecDeque::new(),
            best: 0.0,
            floor: 0.0,
            held_since: None,
            told_late: false,
            told_missed: false,
        }
    }

    /// Returns the mean rate since `ago`, as far as it is known.
    fn rate(&self, ago: Duration) -> f64 {
        let Some(&(now, done)) = self.seen.back() else {
            return 0.0;
        };
        let since = now.saturating_sub(ago);
        let earlier = self.seen.iter().rev().find(|(time, _)| *time <= since);
        let &(then, before) = earlier.or(self.seen.front()).unwrap_or(&(now, done));
        let seconds = now.saturating_sub(then).as_secs_f64();
        match seconds > 0.0 {
            true => done.saturating_sub(before) as f64 / seconds,
            false => 0.0,
        }
    }

    /// Says what is to be done, when `done` bytes have been moved. To be called about once a second.
    pub fn look(&mut self, now: Duration, done: u64) -> Outlook {
        // A clock that was set back has no earlier times.
        if self.seen.back().is_some_and(|(last, _)| *last > now) {
            self.seen.clear();
        }
        self.seen.push_back((now, done));
        let oldest = now.saturating_sub(Duration::from_secs_f64(VERDICT_S[1]));
        while self.seen.get(1).is_some_and(|(time, _)| *time <= oldest) {
            self.seen.pop_front();
        }
        let has = self.rate(RATE_OVER);
        let first = self.seen.front().map_or(now, |(time, _)| *time);
        let whole = now.saturating_sub(first) >= RATE_OVER;
        if whole {
            self.best = self.best.max(has);
        }
        let left = self.bytes.saturating_sub(done) as f64;
        if left == 0.0 {
            return Outlook {
                floor: 0,
                needs: 0.0,
                has,
                news: None,
            };
        }
        let time_s = self.by.saturating_sub(now).as_secs_f64();
        let needs = left / (time_s * PART_OF_TIME).max(LEAST_LEFT_S);
        // What is left at the end needs a low rate, and at low priority it would take for ever: the floor does not fall any more,
        // and after the deadline the transfer is an ordinary flow.
        let least = if time_s == 0.0 {
            self.floor.max(self.best)
        } else if time_s < RATE_OVER.as_secs_f64() {
            self.floor
        } else {
            0.0
        };
        let held = whole && (least > 0.0 || needs >= self.best * PART_OF_BEST);
        self.floor = if held { needs.max(least) } else { 0.0 };
        self.held_since = match held {
            true => self.held_since.or(Some(now)),
            false => None,
        };
        Outlook {
            floor: self.floor.ceil() as u64,
            needs,
            has,
            news: self.news(now, left, time_s),
        }
    }

    fn news(&mut self, now: Duration, left: f64, time_s: f64) -> Option<News> {
        if time_s == 0.0 {
            self.told_late = true;
            return (!std::mem::replace(&mut self.told_missed, true)).then_some(News::Missed);
        }
        let held_for = now.saturating_sub(self.held_since?);
        let verdict_s = (time_s * VERDICT_PART).clamp(VERDICT_S[0], VERDICT_S[1]);
        let verdict_after = Duration::from_secs_f64(verdict_s);
        if held_for < verdict_after || self.told_late {
            return None;
        }
        let late_s = left / self.rate(verdict_after).max(1.0) - time_s;
        // The floor still rises.
        if late_s < (time_s * LATE_PART).max(LATE_S) {
            return None;
        }
        self.told_late = true;
        // Of more than a year nobody needs the number.
        let late = Duration::try_from_secs_f64(late_s).unwrap_or(Duration::MAX);
        Some(News::WillMiss(late))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the line, in bytes per second.
    const LINE: f64 = 1.25e6;
    /// A day compressed to twenty minutes.
    const DAY_S: u64 = 1200;

    /// How long a session of another lasts, in seconds.
    const SESSION_S: f64 = 30.0;

    /// The chance that another begins a session in a second: by day ten times as high as by night.
    fn arrivals(second: usize) -> f64 {
        match (200..800).contains(&second) {
            true => 0.05,
            false => 0.005,
        }
    }

    /// The number of other flows in each second: sessions of random length that begin at random times.
    fn others(seed: u64) -> Vec<u32> {
        let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut random = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1_u64 << 53) as f64
        };
        let mut flows = vec![0; DAY_S as usize];
        for second in 0..DAY_S as usize {
            if random() < arrivals(second) {
                let length = (-(1.0 - random()).ln() * SESSION_S) as usize + 1;
                let end = (second + length).min(flows.len());
                flows[second..end].iter_mut().for_each(|flows| *flows += 1);
            }
        }
        flows
    }

    #[test]
    fn the_last_bytes_are_not_left_to_low_priority() {
        let mut plan = Plan::new(10_000_000, Duration::from_secs(40));
        let mut floors = Vec::new();
        // 250 kB/s, at last slower than is needed, and 50 kB are left after the deadline.
        for second in 0..50_u64 {
            let done = (second * 250_000).min(9_950_000);
            floors.push(plan.look(Duration::from_secs(second), done).floor);
        }
        assert!(
            floors[30..].iter().all(|floor| *floor >= 125_000),
            "{floors:?}"
        );
        assert!(floors[41] >= 250_000, "{floors:?}");
        assert_eq!(plan.look(Duration::from_secs(50), 10_000_000).floor, 0);
    }

    /// What a flow with this floor gets in a second: the line if it is idle, else the floor up to its fair share.
    fn gets(floor: f64, others: u32) -> f64 {
        match others {
            0 => LINE,
            others => floor.min(LINE / f64::from(others + 1)).max(0.01 * LINE),
        }
    }

    struct Day {
        met: bool,
        /// Bytes sent beside others.
        harm: f64,
    }

    /// A day with a floor that is a function of the second, of what is done and of the others that are there.
    fn day(flows: &[u32], size: f64, mut floor: impl FnMut(usize, f64, u32) -> f64) -> Day {
        let (mut done, mut harm) = (0.0, 0.0);
        for (second, others) in flows.iter().enumerate() {
            let rate = gets(floor(second, done, *others), *others).min(size - done);
            done += rate;
            harm += if *others > 0 { rate } else { 0.0 };
        }
        Day {
            met: done >= size - 1.0,
            harm,
        }
    }

    /// A hundred days, with transfers that need 40 to 95 % of what one best-effort flow would get in the whole day.
    fn days() -> Vec<(Vec<u32>, f64)> {
        let of_seed = |seed| {
            let flows = others(seed);
            let all: f64 = flows.iter().map(|others| gets(LINE, *others)).sum();
            (flows, all * (0.4 + 0.55 * (seed as f64 / 100.0)))
        };
        (1..=100).map(of_seed).collect()
    }

    /// Returns the days on which all was done, and what was sent beside others, in bytes.
    fn sum<F: FnMut(usize, f64, u32) -> f64>(
        days: &[(Vec<u32>, f64)],
        floor_for: impl Fn(f64) -> F,
    ) -> (usize, f64) {
        let days = days
            .iter()
            .map(|(flows, size)| day(flows, *size, floor_for(*size)));
        days.fold((0, 0.0), |(met, harm), day| {
            (met + usize::from(day.met), harm + day.harm)
        })
    }

    /// The harm that even a law which knows the future does, in bytes: the least that a flow sends beside others, and the rest
    /// that idle times have no room for.
    fn least_harm(days: &[(Vec<u32>, f64)]) -> f64 {
        let of_day = |(flows, size): &(Vec<u32>, f64)| {
            let without = day(flows, *size, |_, _, _| 0.0).harm;
            let room: f64 = flows.iter().map(|others| gets(0.0, *others)).sum();
            without + (size - room).max(0.0)
        };
        days.iter().map(of_day).sum()
    }

    #[test]
    fn deadlines_are_met_without_much_harm() {
        let days = days();
        let least = least_harm(&days);
        let (met, harm) = sum(&days, |size| {
            let mut plan = Plan::new(size as u64, Duration::from_secs(DAY_S));
            move |second, done, _| {
                let now = Duration::from_secs(second as u64);
                plan.look(now, done as u64).floor as f64
            }
        });
        // The smallest constant floor with which as many are met, in steps of a hundredth of the line.
        let constant = |part: f64| sum(&days, |_| move |_, _, _| part * LINE);
        let parts = (1..=50).map(|part| f64::from(part) / 100.0);
        let (part, (_, fixed)) = parts
            .map(|part| (part, constant(part)))
            .find(|(_, (fixed_met, _))| *fixed_met >= met)
            .expect("half of the line meets all");
        println!(
            "met {met}; beside others {:.2} times what is least, a floor of {part} of the line {:.2}",
            harm / least,
            fixed / least
        );
        assert!(met >= 99, "{met}");
        assert!(harm < 2.4 * least, "{}", harm / least);
        assert!(harm < 0.62 * fixed, "{}", harm / fixed);
    }

    /// Others that an optimal law reckons with at most. It counts what is left in seconds of the line.
    const MOST_OTHERS: usize = 8;

    /// For each second, number of others and seconds of the line left: whether a law that knows how often others come at each hour, but not when,
    /// takes its share beside them. By dynamic programming; `price` is that of a missed deadline, in seconds of the line.
    fn optimal(price: f64) -> Vec<Vec<Vec<bool>>> {
        let most_left = DAY_S as usize;
        let stays = (-1.0 / SESSION_S).exp();
        // The chances of each number of others a second later.
        let later = |now: usize, arrives: f64| {
            let mut chances = vec![0.0; MOST_OTHERS + 1];
            let mut staying = (1.0 - stays).powi(now as i32);
            for left in 0..=now {
                chances[left] += staying * (1.0 - arrives);
                chances[(left + 1).min(MOST_OTHERS)] += staying * arrives;
                staying *= (now - left) as f64 / (left + 1) as f64 * stays / (1.0 - stays);
            }
            chances
        };
        let missed = |left: usize| if left > 0 { price + left as f64 } else { 0.0 };
        let mut cost = vec![(0..=most_left).map(missed).collect::<Vec<f64>>(); MOST_OTHERS + 1];
        let mut takes = Vec::new();
        for second in (0..DAY_S as usize).rev() {
            let mut now = Vec::new();
            takes.push(Vec::new());
            for others in 0..=MOST_OTHERS {
                let chances = later(others, arrivals(second + 1));
                let expected: Vec<f64> = (0..=most_left)
                    .map(|left| {
                        chances
                            .iter()
                            .zip(&cost)
                            .map(|(p, cost)| p * cost[left])
                            .sum()
                    })
                    .collect();
                let after = |left: usize, floor: f64| {
                    let sent = gets(floor, others as u32) / LINE;
                    let rest = (left as f64 - sent).max(0.0);
                    let (whole, part) = (rest as usize, rest.fract());
                    let next = expected[(whole + 1).min(most_left)];
                    let harm = if others > 0 { left as f64 - rest } else { 0.0 };
                    harm + expected[whole] * (1.0 - part) + next * part
                };
                let both = (0..=most_left).map(|left| (after(left, LINE), after(left, 0.0)));
                let both: Vec<(f64, f64)> = both.collect();
                now.push(both.iter().map(|(more, less)| more.min(*less)).collect());
                let takes_all = both.iter().map(|(more, less)| more < less).collect();
                takes.last_mut().expect("one was pushed").push(takes_all);
            }
            cost = now;
        }
        takes.reverse();
        takes
    }

    /// The law above does not know how much idle time is to come, and most of its harm follows from that.
    #[test]
    fn even_who_knows_the_hours_harms_more_than_the_least() {
        let days = days();
        let takes = optimal(1000.0);
        let (met, harm) = sum(&days, |size| {
            let takes = &takes;
            move |second, done, others| {
                let left = ((size - done) / LINE).ceil() as usize;
                let others = (others as usize).min(MOST_OTHERS);
                if takes[second][others][left] {
                    LINE
                } else {
                    0.0
                }
            }
        });
        let times = harm / least_harm(&days);
        println!("met {met}; beside others {times:.2} times what is least");
        assert!(met >= 99, "{met}");
        assert!((1.4..1.9).contains(&times), "{times}");
    }

    /// A day of which docs/pictures has a picture, in steps of ten seconds. `NETNICE_DRAW=1` writes it anew.
    #[test]
    fn the_day_in_the_picture_is_that_of_today() {
        const DATA: &str = "../../docs/data/a-day-with-a-deadline.csv";
        const STEP: usize = 10;
        let flows = others(3);
        let size = 0.65 * flows.iter().map(|others| gets(LINE, *others)).sum::<f64>();
        let mut floors = Vec::new();
        let mut plan = Plan::new(size as u64, Duration::from_secs(DAY_S));
        let planned = day(&flows, size, |second, done, _| {
            let now = Duration::from_secs(second as u64);
            floors.push(plan.look(now, done as u64).floor as f64);
            floors[floors.len() - 1]
        });
        assert!(planned.met);
        let mut table = String::from("second,others,floor_bps,rate_bps\n");
        let mut done = 0.0;
        for (step, (flows, floors)) in flows.chunks(STEP).zip(floors.chunks(STEP)).enumerate() {
            let rates = flows
                .iter()
                .zip(floors)
                .map(|(others, floor)| gets(*floor, *others));
            let moved = rates.sum::<f64>().min(size - done);
            done += moved;
            let mean = |sum: f64| (8.0 * sum / STEP as f64).round();
            let most = flows.iter().max().unwrap_or(&0);
            let (floor, rate) = (mean(floors.iter().sum()), mean(moved));
            table += &format!("{},{most},{floor},{rate}\n", step * STEP);
        }
        if std::env::var_os("NETNICE_DRAW").is_some() {
            std::fs::write(DATA, &table).unwrap();
        }
        let kept = std::fs::read_to_string(DATA).unwrap_or_default();
        assert!(
            kept == table,
            "{DATA} differs: run this test with NETNICE_DRAW=1, then tools/pictures"
        );
    }

    /// On an idle line a transfer that is early never has a floor.
    #[test]
    fn there_is_no_floor_while_there_is_time() {
        let mut plan = Plan::new(100_000_000, Duration::from_secs(1000));
        for second in 0..80 {
            let outlook = plan.look(Duration::from_secs(second), second * 1_000_000);
            assert_eq!((outlook.floor, outlook.news), (0, None), "{second}");
        }
    }

    #[test]
    fn a_transfer_that_gets_nothing_needs_more_and_more() {
        let mut plan = Plan::new(95_000_000, Duration::from_secs(200));
        let needs = |plan: &mut Plan, second| plan.look(Duration::from_secs(second), 0);
        for second in 0..100 {
            needs(&mut plan, second);
        }
        assert_eq!(needs(&mut plan, 100).floor, 1_000_000);
        assert_eq!(needs(&mut plan, 150).floor, 2_000_000);
    }

    #[test]
    fn bad_news_is_told_once() {
        let mut plan = Plan::new(10_000_000, Duration::from_secs(100));
        let news: Vec<(u64, News)> = (0..120)
            .filter_map(|second| {
                let outlook = plan.look(Duration::from_secs(second), second * 50_000);
                Some((second, outlook.news?))
            })
            .collect();
        // Half of it will be done by then.
        let [(first, News::WillMiss(late)), (100, News::Missed)] = news[..] else {
            panic!("{news:?}");
        };
        assert!(
            (10..40).contains(&first) && (99..=101).contains(&late.as_secs()),
            "{news:?}"
        );
    }

    #[test]
    fn a_clock_that_is_set_back_does_no_harm() {
        let mut plan = Plan::new(1_000_000_000, Duration::from_secs(2000));
        for second in (500..600).chain(100..200) {
            let outlook = plan.look(Duration::from_secs(second), 1_000_000);
            assert!(outlook.has < 1e6 && outlook.needs < 1e6, "{outlook:?}");
        }
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times of day and spans, as on the command line: `06:30`, `+4h`.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

const ALLOWED: &str = "give a time of day, as 06:30, or a span from now on, as +4h, +90m or +1h30m";

/// A time of day, in minutes since midnight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct TimeOfDay(u32);

impl TimeOfDay {
    /// Parses `06:30`.
    pub fn parse(text: &str) -> Option<Self> {
        let (hour, minute) = text.split_once(':')?;
        let number = |text: &str, below: u32| {
            let digits = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<u32>()
                .ok()
                .filter(|number| digits && *number < below)
        };
        Some(Self(number(hour, 24)? * 60 + number(minute, 60)?))
    }
}

/// Hours of each day, from one time to another, over midnight where the second is earlier: `22:00-06:00`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hours {
    from: TimeOfDay,
    to: TimeOfDay,
}

impl Hours {
    /// Parses `22:00-06:00`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let ends = text.split_once('-').and_then(|(from, to)| {
            let (from, to) = (TimeOfDay::parse(from)?, TimeOfDay::parse(to)?);
            (from != to).then_some(Self { from, to })
        });
        ends.ok_or_else(|| "give two times of day, as 22:00-06:00".to_owned())
    }

    /// Returns whether a time is within; the second end is not.
    fn contains(self, time: TimeOfDay) -> bool {
        match self.from < self.to {
            true => (self.from..self.to).contains(&time),
            false => time >= self.from || time < self.to,
        }
    }

    /// Returns whether the local time is within; `true` where it is not known.
    pub fn are_now(self) -> bool {
        let local = local(SystemTime::now());
        local.is_none_or(|local| {
            self.contains(TimeOfDay((local.tm_hour * 60 + local.tm_min) as u32))
        })
    }

    /// Both ends, as `22:00`.
    pub fn ends(self) -> [String; 2] {
        [self.from, self.to].map(|time| format!("{:02}:{:02}", time.0 / 60, time.0 % 60))
    }
}

/// Parses a moment: the next time that the local clock shows a time of day, or so long after `now`. By daylight saving a time that is
/// skipped is the one an hour later.
pub fn moment(text: &str, now: SystemTime) -> Result<SystemTime, String> {
    let wrong = || ALLOWED.to_owned();
    if let Some(span) = text.strip_prefix('+') {
        return Ok(now + span_of(span).ok_or_else(wrong)?);
    }
    let time = TimeOfDay::parse(text).ok_or_else(wrong)?;
    next(time, now).ok_or_else(|| "the local time is not known".to_owned())
}

/// Parses `4h`, `1h30m`, `90s`.
fn span_of(text: &str) -> Option<Duration> {
    let mut left = text;
    let mut seconds = 0_u64;
    while !left.is_empty() {
        let digits = left.find(|sign: char| !sign.is_ascii_digit())?;
        let (number, rest) = left.split_at(digits);
        let unit = match rest.chars().next()? {
            'd' => 86_400,
            'h' => 3600,
            'm' => 60,
            's' => 1,
            _ => return None,
        };
        let number: u32 = number.parse().ok()?;
        seconds += u64::from(number) * unit;
        left = &rest[1..];
    }
    // Within a year, so that no sum overflows.
    (1..=366 * 86_400)
        .contains(&seconds)
        .then(|| Duration::from_secs(seconds))
}

/// The local time and date; `None` if they are not known.
fn local(now: SystemTime) -> Option<libc::tm> {
    let seconds = now.duration_since(UNIX_EPOCH).ok()?.as_secs();
    let seconds = libc::time_t::try_from(seconds).ok()?;
    // SAFETY: all zeros are a valid `tm`.
    let mut local: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both outlive the call.
    let found = unsafe { libc::localtime_r(&seconds, &mut local) };
    (!found.is_null()).then_some(local)
}

fn next(time: TimeOfDay, now: SystemTime) -> Option<SystemTime> {
    let local = local(now)?;
    [0, 1].into_iter().find_map(|days| {
        let mut wanted = local;
        wanted.tm_mday += days;
        wanted.tm_hour = (time.0 / 60) as libc::c_int;
        wanted.tm_min = (time.0 % 60) as libc::c_int;
        wanted.tm_sec = 0;
        // Whether daylight saving is in force then is for the time zone to say.
        wanted.tm_isdst = -1;
        // SAFETY: it outlives the call.
        let found = unsafe { libc::mktime(&mut wanted) };
        let found = UNIX_EPOCH + Duration::from_secs(u64::try_from(found).ok()?);
        (found > now).then_some(found)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_sums() {
        for (text, seconds) in [
            ("4h", 14_400),
            ("90m", 5400),
            ("1h30m", 5400),
            ("5s", 5),
            ("1d", 86_400),
        ] {
            assert_eq!(span_of(text), Some(Duration::from_secs(seconds)), "{text}");
        }
        for text in ["", "4", "h", "4x", "0s", "1000d", "-1h", "99999999999h"] {
            assert_eq!(span_of(text), None, "{text}");
        }
    }

    #[test]
    fn a_time_of_day_is_the_next_one() {
        let now = SystemTime::now();
        for text in ["00:00", "06:30", "12:00", "23:59"] {
            let then = moment(text, now).unwrap();
            let ahead = then.duration_since(now).expect("it is later");
            // A day has up to 25 hours, and one more for what daylight saving skips.
            assert!(ahead <= Duration::from_secs(26 * 3600), "{text}: {ahead:?}");
        }
    }

    #[test]
    fn hours_may_go_over_midnight() {
        for (hours, inside, outside) in [
            (
                "22:00-06:00",
                ["22:00", "23:59", "00:00", "05:59"],
                ["06:00", "12:00", "21:59"],
            ),
            (
                "08:00-18:30",
                ["08:00", "12:00", "18:00", "18:29"],
                ["18:30", "00:00", "07:59"],
            ),
        ] {
            let parsed = Hours::parse(hours).unwrap();
            let contains = |text: &str| parsed.contains(TimeOfDay::parse(text).unwrap());
            assert!(inside.iter().all(|text| contains(text)), "{hours}");
            assert!(!outside.iter().any(|text| contains(text)), "{hours}");
            assert_eq!(parsed.ends().join("-"), hours);
        }
        for text in ["22:00", "22:00-22:00", "22-06", "22:00-24:00", ""] {
            assert!(Hours::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for text in [
            "6:30", "24:00", "06:60", "0630", "+", "tomorrow", "06:30:00", "+1:00",
        ] {
            assert_eq!(
                moment(text, SystemTime::now()),
                Err(ALLOWED.to_owned()),
                "{text}"
            );
        }
    }
}

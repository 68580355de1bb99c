// SPDX-License-Identifier: MIT OR Apache-2.0
//! The papers' web traffic: sessions that load one page after the other, each of several objects, each object over a
//! connection of its own (HTTP/1.0).

use std::time::Duration;

use netnice_queue::Time;

use crate::random::{Stream, seconds};

/// A population of web sessions.
#[derive(Debug, Clone, PartialEq)]
pub struct Web {
    /// Sessions, all alike and independent.
    pub sessions: u32,
    /// Mean of the exponential time from the end of a page to the beginning of the session's next: 1 s in the papers.
    pub mean_page_gap: Duration,
    /// The time to the next page counts from the beginning of a page instead, so that requests do not depend on how
    /// long pages take. ns-2's web traffic can do both.
    pub open_loop: bool,
    /// Objects of a page: ten in the papers.
    pub objects_per_page: u32,
    /// Mean of the exponential time between the requests for a page's objects, which do not wait for one another: 1 ms
    /// in the papers.
    pub mean_object_gap: Duration,
    /// Distribution of object sizes.
    pub object_size: ObjectSize,
}

/// The distribution of object sizes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ObjectSize {
    /// Mean in bytes, before the cut.
    pub mean_bytes: f64,
    /// Shape of a Pareto distribution: 1.2 in the papers; all alike if `None`.
    pub shape: Option<f64>,
    /// Larger draws are cut to this.
    pub max_bytes: Option<u64>,
}

/// A request for one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Object {
    /// Its size.
    pub bytes: u64,
    /// Which of the servers it comes from; the same for all objects of a page.
    pub server: usize,
}

/// One session.
#[derive(Debug)]
pub struct Session {
    servers: usize,
    server: usize,
    /// When the present page began.
    began: Time,
    /// Objects of the present page not requested yet.
    to_request: u32,
    /// Objects requested that have not arrived.
    outstanding: u32,
    stream: Stream,
}

impl Session {
    /// A session with `servers`, not zero, from which it picks one for each page.
    pub fn new(servers: usize, stream: Stream) -> Session {
        Session {
            servers,
            server: 0,
            began: Time::ZERO,
            to_request: 0,
            outstanding: 0,
            stream,
        }
    }

    /// When the next page begins, if the gap before it does at `from`.
    pub fn next_page(&mut self, web: &Web, from: Time) -> Time {
        from + seconds(self.stream.exponential(web.mean_page_gap.as_secs_f64()))
    }

    /// The object requested at `now`, and the time of the next request; `None` if that is known only at the end of the
    /// page.
    pub fn request(&mut self, web: &Web, now: Time) -> (Object, Option<Time>) {
        if self.to_request == 0 {
            self.server = self.stream.below(self.servers);
            self.to_request = web.objects_per_page.max(1);
            self.began = now;
        }
        self.to_request -= 1;
        self.outstanding += 1;
        let object = Object {
            bytes: web.object_size.draw(&mut self.stream),
            server: self.server,
        };
        let next = if self.to_request > 0 {
            Some(now + seconds(self.stream.exponential(web.mean_object_gap.as_secs_f64())))
        } else if web.open_loop {
            Some(self.next_page(web, self.began).max(now))
        } else {
            None
        };
        (object, next)
    }

    /// An object has come at `now`; when the next page begins, if this has decided it.
    pub fn object_has_come(&mut self, web: &Web, now: Time) -> Option<Time> {
        self.outstanding -= 1;
        let at_end = self.outstanding == 0 && self.to_request == 0 && !web.open_loop;
        at_end.then(|| self.next_page(web, now))
    }
}

impl ObjectSize {
    fn draw(&self, stream: &mut Stream) -> u64 {
        let bytes = match self.shape {
            Some(shape) => stream.pareto(self.mean_bytes, shape),
            None => self.mean_bytes,
        };
        (bytes.ceil().min(1e15) as u64)
            .min(self.max_bytes.unwrap_or(u64::MAX))
            .max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_objects_and_sizes_are_as_the_paper_has_them() {
        let web = Web {
            sessions: 1,
            mean_page_gap: Duration::from_secs(1),
            open_loop: false,
            objects_per_page: 10,
            mean_object_gap: Duration::from_millis(1),
            object_size: ObjectSize {
                mean_bytes: 12_000.0,
                shape: Some(1.2),
                max_bytes: Some(1_000_000),
            },
        };
        let mut session = Session::new(3, Stream::new(2, "web"));
        let mut now = session.next_page(&web, Time::ZERO);
        let mut sizes = Vec::new();
        let mut from_last_server = 0;
        for _ in 0..20_000 {
            let mut servers = Vec::new();
            let mut next = Some(now);
            while let Some(at) = next {
                now = at;
                let (object, later) = session.request(&web, at);
                sizes.push(object.bytes);
                servers.push(object.server);
                next = later;
            }
            assert_eq!(servers.len(), 10);
            assert!(servers.iter().all(|&server| server == servers[0]));
            from_last_server += usize::from(servers[0] == 2);
            assert!((0..9).all(|_| session.object_has_come(&web, now).is_none()));
            now = session.object_has_come(&web, now).unwrap();
        }
        // A page takes 9 gaps of 1 ms, and 1 s goes by before it.
        let mean_page = now.as_nanos() as f64 * 1e-9 / 20_000.0;
        assert!((mean_page / 1.009 - 1.0).abs() < 0.03, "{mean_page}");
        // The least size is 12,000 * 0.2 / 1.2 = 2000 B; half of the sizes exceed 2000 * 2^(1/1.2) = 3564 B.
        assert!(sizes.iter().all(|bytes| (2000..=1_000_000).contains(bytes)));
        let larger = sizes.iter().filter(|&&bytes| bytes > 3564).count() as f64;
        assert!((larger / 200_000.0 - 0.5).abs() < 0.01);
        assert!((f64::from(from_last_server as u32) / 20_000.0 - 1.0 / 3.0).abs() < 0.02);
    }

    #[test]
    fn an_open_loop_asks_for_pages_however_long_they_take() {
        let web = Web {
            sessions: 1,
            mean_page_gap: Duration::from_secs(1),
            open_loop: true,
            objects_per_page: 3,
            mean_object_gap: Duration::from_millis(1),
            object_size: ObjectSize {
                mean_bytes: 5000.0,
                shape: None,
                max_bytes: None,
            },
        };
        let mut session = Session::new(1, Stream::new(1, "web"));
        let mut now = session.next_page(&web, Time::ZERO);
        for _ in 0..3 * 20_000 {
            let (_, next) = session.request(&web, now);
            assert!(next.unwrap() >= now);
            now = next.unwrap();
        }
        // One page a second; that the next cannot begin within the 2 ms of a page's requests hardly matters.
        let mean_page = now.as_nanos() as f64 * 1e-9 / 20_000.0;
        assert!((mean_page - 1.0).abs() < 0.03, "{mean_page}");
        // In an open loop the arrival of an object starts no page.
        assert!((0..60_000).all(|_| session.object_has_come(&web, now).is_none()));
    }
}

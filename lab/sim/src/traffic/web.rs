// SPDX-License-Identifier: MIT OR Apache-2.0
//! Web traffic: sessions that load one page after the other, each of several objects. In the papers each object has a connection of
//! its own (HTTP/1.0); today those of a page share one.

use std::time::Duration;

use netnice_queue::Time;
use netnice_scenario::model::Multiplexing;

use super::Sizes;
use netnice_queue::random::{Stream, seconds};

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
    pub object_size: Sizes,
    /// Times without pages, which count for no gap; only of an open loop.
    pub pauses: Option<Pauses>,
    /// The connections of objects. Where they share one, the receiver of the data has to be the opener.
    pub multiplexing: Multiplexing,
    /// Measure how long pages take.
    pub page_times: bool,
}

/// Times without requests: an interrupted Poisson process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pauses {
    /// Mean of the exponential times in which requests come. The first begins with the session.
    pub mean_on: Duration,
    /// Mean of the exponential times between them.
    pub mean_off: Duration,
}

/// The client of a session's requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clients {
    /// All come from this one.
    One(usize),
    /// Each page goes to one picked at random from so many, not zero.
    Any(usize),
}

/// A request for one object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Object {
    /// Its size.
    pub bytes: u64,
    /// Which of the servers it comes from; the same for all objects of a page.
    pub server: usize,
    /// Which of the clients it goes to; the same for all objects of a page.
    pub client: usize,
    /// Number of its page in the session, from 0.
    pub page: u64,
}

/// One session.
#[derive(Debug)]
pub struct Session {
    servers: usize,
    clients: Clients,
    server: usize,
    client: usize,
    /// When the present page began.
    began: Time,
    /// Pages begun.
    pages: u64,
    /// Objects of the present page not requested yet.
    to_request: u32,
    /// Objects requested that have not arrived.
    outstanding: u32,
    /// The rest of the time in which requests come, in seconds; `None` before the first.
    on_left: Option<f64>,
    stream: Stream,
}

impl Session {
    /// A session with `servers`, not zero, from which it picks one for each page.
    pub fn new(servers: usize, clients: Clients, stream: Stream) -> Session {
        Session {
            servers,
            clients,
            server: 0,
            client: 0,
            began: Time::ZERO,
            pages: 0,
            to_request: 0,
            outstanding: 0,
            on_left: None,
            stream,
        }
    }

    /// When the next page begins, if the gap before it does at `from`.
    pub fn next_page(&mut self, web: &Web, from: Time) -> Time {
        let gap = self.stream.exponential(web.mean_page_gap.as_secs_f64());
        match &web.pauses {
            None => from + seconds(gap),
            Some(pauses) => from + seconds(gap + self.pauses_in(pauses, gap)),
        }
    }

    /// The pauses, in seconds, within a gap of so many seconds of the times in which requests come.
    fn pauses_in(&mut self, pauses: &Pauses, gap: f64) -> f64 {
        let on = |stream: &mut Stream| stream.exponential(pauses.mean_on.as_secs_f64());
        let mut left = match self.on_left {
            Some(left) => left,
            None => on(&mut self.stream),
        };
        let (mut gap, mut paused) = (gap, 0.0);
        while gap > left {
            gap -= left;
            paused += self.stream.exponential(pauses.mean_off.as_secs_f64());
            left = on(&mut self.stream);
        }
        self.on_left = Some(left - gap);
        paused
    }

    /// The object requested at `now`, and the time of the next request; `None` if that is known only at the end of the
    /// page.
    pub fn request(&mut self, web: &Web, now: Time) -> (Object, Option<Time>) {
        if self.to_request == 0 {
            self.server = self.stream.below(self.servers);
            self.client = match self.clients {
                Clients::One(client) => client,
                Clients::Any(clients) => self.stream.below(clients),
            };
            self.to_request = web.objects_per_page.max(1);
            self.began = now;
            self.pages += 1;
        }
        self.to_request -= 1;
        self.outstanding += 1;
        let object = Object {
            bytes: web.object_size.draw(&mut self.stream),
            server: self.server,
            client: self.client,
            page: self.pages - 1,
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

#[cfg(test)]
mod tests {
    use super::super::ObjectSize;
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
            }
            .into(),
            pauses: None,
            multiplexing: Multiplexing::None,
            page_times: false,
        };
        let mut session = Session::new(3, Clients::One(0), Stream::new(2, "web"));
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
            }
            .into(),
            pauses: None,
            multiplexing: Multiplexing::None,
            page_times: false,
        };
        let mut session = Session::new(1, Clients::One(0), Stream::new(1, "web"));
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

    #[test]
    fn pauses_thin_the_arrivals_out() {
        let mut web = Web {
            sessions: 1,
            mean_page_gap: Duration::from_millis(10),
            open_loop: true,
            objects_per_page: 1,
            mean_object_gap: Duration::ZERO,
            object_size: Sizes::Exponential { mean_bytes: 1000.0 },
            pauses: Some(Pauses {
                mean_on: Duration::from_millis(200),
                mean_off: Duration::from_millis(600),
            }),
            multiplexing: Multiplexing::None,
            page_times: false,
        };
        let gaps = |web: &Web| {
            let mut session = Session::new(1, Clients::Any(4), Stream::new(3, "arrivals"));
            let mut times = vec![session.next_page(web, Time::ZERO)];
            let mut of_client = [0; 4];
            for number in 0..100_000 {
                let (object, next) = session.request(web, times[number]);
                of_client[object.client] += 1;
                times.push(next.unwrap());
            }
            // A quarter each, within four standard errors of 137.
            assert!(
                of_client
                    .iter()
                    .all(|&count: &i32| (count - 25_000).abs() < 548)
            );
            let gaps: Vec<f64> = times
                .windows(2)
                .map(|pair| (pair[1] - pair[0]).as_secs_f64())
                .collect();
            let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
            let squares = gaps.iter().map(|gap| gap * gap).sum::<f64>() / gaps.len() as f64;
            (mean, squares / (mean * mean))
        };
        // On for a quarter of the time: four times the gap. A gap has a pause with each 1 / 200 ms of on-time: the sum over
        // an exponential number of exponential pauses. E[gap^2] = 2 (10 ms + 30 ms)^2 + 2 * (10 / 200) * (600 ms)^2.
        let (mean, squares) = gaps(&web);
        assert!((mean / 0.040 - 1.0).abs() < 0.06, "{mean}");
        assert!((squares / 24.5 - 1.0).abs() < 0.15, "{squares}");
        // A Poisson process without them: E[gap^2] = 2 (10 ms)^2.
        web.pauses = None;
        let (mean, squares) = gaps(&web);
        assert!((mean / 0.010 - 1.0).abs() < 0.013, "{mean}");
        assert!((squares / 2.0 - 1.0).abs() < 0.03, "{squares}");
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! The papers' web traffic: sessions that load pages of several objects, each object over a connection of its own
//! (HTTP/1.0), whether or not those before it have come.

use std::time::Duration;

use netnice_queue::Time;

use crate::random::{Stream, seconds};

/// A population of web sessions.
#[derive(Debug, Clone, PartialEq)]
pub struct Web {
    /// Sessions, all alike and independent.
    pub sessions: u32,
    /// Mean of the exponential time between the beginnings of a session's pages: 1 s in the papers.
    pub mean_page_gap: Duration,
    /// Objects of a page: ten in the papers.
    pub objects_per_page: u32,
    /// Mean of the exponential time between the requests for a page's objects: 1 ms in the papers.
    pub mean_object_gap: Duration,
    /// Mean size of an object in bytes.
    pub mean_object_bytes: f64,
    /// Shape of the Pareto distribution of the sizes: 1.2 in the papers.
    pub shape: f64,
    /// Pages of each session; without end if `None`.
    pub pages: Option<u64>,
}

/// A request for one object.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Object {
    /// When it is asked for.
    pub at: Time,
    /// Its size.
    pub bytes: u64,
    /// Which of the places the page comes from; the same for all objects of a page.
    pub site: usize,
}

/// One session: an iterator over the objects it asks for.
#[derive(Debug)]
pub struct WebSession {
    web: Web,
    sites: usize,
    site: usize,
    page_begins: Time,
    next: Time,
    objects_left: u32,
    pages_left: Option<u64>,
    stream: Stream,
}

impl Web {
    /// A session that begins its first page at a random time after `start`; `sites` is the number of places, not zero,
    /// from which it picks one for each page.
    pub fn session(&self, start: Time, sites: usize, stream: Stream) -> WebSession {
        WebSession {
            web: self.clone(),
            sites,
            site: 0,
            page_begins: start,
            next: start,
            objects_left: 0,
            pages_left: self.pages,
            stream,
        }
    }
}

impl Iterator for WebSession {
    type Item = Object;

    fn next(&mut self) -> Option<Object> {
        if self.objects_left == 0 {
            if let Some(left) = &mut self.pages_left {
                *left = left.checked_sub(1)?;
            }
            let gap = self
                .stream
                .exponential(self.web.mean_page_gap.as_secs_f64());
            self.page_begins = self.page_begins + seconds(gap);
            // A page that began while the one before was still being asked for waits for it.
            self.next = self.next.max(self.page_begins);
            self.site = self.stream.below(self.sites);
            self.objects_left = self.web.objects_per_page.max(1);
        }
        self.objects_left -= 1;
        let at = self.next;
        let gap = self
            .stream
            .exponential(self.web.mean_object_gap.as_secs_f64());
        self.next = at + seconds(gap);
        let bytes = self
            .stream
            .pareto(self.web.mean_object_bytes, self.web.shape);
        Some(Object {
            at,
            bytes: bytes.ceil().min(1e15) as u64,
            site: self.site,
        })
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
            objects_per_page: 10,
            mean_object_gap: Duration::from_millis(1),
            mean_object_bytes: 12_000.0,
            shape: 1.2,
            pages: Some(20_000),
        };
        let objects: Vec<Object> = web.session(Time::ZERO, 3, Stream::new(2, "web")).collect();
        assert_eq!(objects.len(), 200_000);
        let last = objects[objects.len() - 1].at.as_nanos() as f64 * 1e-9;
        assert!((last / 20_000.0 - 1.0).abs() < 0.03, "{last}");
        assert!(objects.windows(2).all(|pair| pair[0].at <= pair[1].at));
        assert!(
            objects
                .chunks(10)
                .all(|page| page.iter().all(|object| object.site == page[0].site))
        );
        // The least size is 12,000 * 0.2 / 1.2 = 2000 B; half of the sizes exceed 2000 * 2^(1/1.2) = 3564 B.
        assert!(objects.iter().all(|object| object.bytes >= 2000));
        let larger = objects.iter().filter(|object| object.bytes > 3564).count() as f64;
        assert!((larger / 200_000.0 - 0.5).abs() < 0.01);
        let elsewhere = objects.iter().filter(|object| object.site == 2).count() as f64;
        assert!((elsewhere / 200_000.0 - 1.0 / 3.0).abs() < 0.02);
    }
}

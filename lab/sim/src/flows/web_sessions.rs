// SPDX-License-Identifier: MIT OR Apache-2.0
//! Web sessions at work.

use std::collections::{HashMap, VecDeque};

use netnice_queue::Time;
use netnice_scenario::network::UnloadedPath;

use crate::traffic::{Object, Session};

/// A session and its flow.
#[derive(Debug)]
pub(crate) struct SessionState {
    pub session: Session,
    pub flow: u32,
    /// Only of flows whose slowdown is measured.
    pub unloaded: Option<Box<Unloaded>>,
    /// Only of flows whose pages are timed.
    pub pages: Option<Box<Pages>>,
    /// By client and server the streams of the connection between them, where objects share one.
    pub streams: HashMap<(usize, usize), u32>,
}

impl SessionState {
    /// The object has the connection in `slot` to itself.
    pub fn note_connection(&mut self, slot: u32, object: &Object) {
        if let Some(unloaded) = &mut self.unloaded {
            let servers = unloaded.paths.get(object.client);
            if let Some(path) = servers.and_then(|paths| paths.get(object.server)) {
                let time = path.completion(object.bytes).as_nanos() as u64;
                unloaded.pending_ns.insert(slot, time);
            }
        }
        if let Some(pages) = &mut self.pages {
            pages.of_connection.insert(slot, object.page);
        }
    }
}

/// The pages of a session that have not all their objects.
#[derive(Debug, Default)]
pub(crate) struct Pages {
    /// The number of the first.
    first: u64,
    /// When each was asked for, and how many of its objects have not arrived.
    open: VecDeque<(Time, u32)>,
    /// Of objects that have a connection each, the page of the object by the connection's slot.
    pub of_connection: HashMap<u32, u64>,
}

impl Pages {
    /// The session asks for an object at `now`. True for the first of a page, of so many.
    pub fn ask(&mut self, object: &Object, objects: u32, now: Time) -> bool {
        let is_first = object.page == self.first + self.open.len() as u64;
        if is_first {
            self.open.push_back((now, objects));
        }
        is_first
    }

    /// An object of this page has arrived: if it was the last one, when the page was asked for.
    pub fn object_arrived(&mut self, page: u64) -> Option<Time> {
        let place = page.checked_sub(self.first)?;
        let (began, left) = self.open.get_mut(place as usize)?;
        let began = *began;
        *left -= 1;
        if *left > 0 {
            return None;
        }
        while let Some((_, 0)) = self.open.front() {
            self.open.pop_front();
            self.first += 1;
        }
        Some(began)
    }
}

/// The times that transfers take with nobody else on their paths.
#[derive(Debug)]
pub(crate) struct Unloaded {
    /// For each client the paths from each server.
    pub paths: Vec<Vec<UnloadedPath>>,
    /// For each connection, the time of its transfer in nanoseconds.
    pub pending_ns: HashMap<u32, u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_ends_with_its_last_object() {
        let mut pages = Pages::default();
        let at = Time::from_millis;
        let object = |page| Object {
            bytes: 1,
            server: 0,
            client: 0,
            page,
        };
        assert!(pages.ask(&object(0), 2, at(5)));
        assert!(!pages.ask(&object(0), 2, at(6)));
        // In an open loop pages overlap.
        assert!(pages.ask(&object(1), 1, at(7)));
        assert_eq!(pages.object_arrived(1), Some(at(7)));
        assert_eq!(pages.object_arrived(0), None);
        assert_eq!(pages.object_arrived(0), Some(at(5)));
        assert!(pages.ask(&object(2), 1, at(9)));
        assert_eq!(pages.object_arrived(2), Some(at(9)));
    }
}

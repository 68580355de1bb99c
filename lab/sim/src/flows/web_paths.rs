// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ways between the clients and the servers of web sessions.
//!
//! A thousand clients and a thousand servers are a million pairs, of which a run may use a few thousand. So a route is
//! found when a page is the first to need it.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use crate::flows::path::Path;
use crate::packet::Route;

/// The ways between clients and servers, each found when it is asked for.
#[derive(Clone)]
pub struct WebPaths {
    pub(crate) clients: usize,
    pub(crate) servers: usize,
    /// Pairs of a client and a server whose ways lead over all links that those of the others do.
    pub(crate) covering: Vec<(usize, usize)>,
    find: Arc<dyn Fn(usize, usize) -> Path + Send + Sync>,
}

impl WebPaths {
    /// Ways between so many clients and so many servers.
    ///
    /// `find` returns the way of data from a server to a client, and back, given the numbers of the client and of the
    /// server. The ways of `covering`, pairs of a client and a server, must lead over all links that those of the other
    /// pairs do.
    pub fn new(
        (clients, servers): (usize, usize),
        covering: Vec<(usize, usize)>,
        find: impl Fn(usize, usize) -> Path + Send + Sync + 'static,
    ) -> WebPaths {
        WebPaths {
            clients,
            servers,
            covering,
            find: Arc::new(find),
        }
    }

    /// The way between a client and a server.
    pub(crate) fn find(&self, (client, server): (usize, usize)) -> Path {
        (self.find)(client, server)
    }
}

impl fmt::Debug for WebPaths {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebPaths")
            .field("clients", &self.clients)
            .field("servers", &self.servers)
            .finish_non_exhaustive()
    }
}

/// The routes of the pairs that were used so far, and of those that cover all links.
#[derive(Debug)]
pub(crate) struct WebRoutes {
    paths: WebPaths,
    /// There and back, by client and server.
    known: HashMap<(u32, u32), (Route, Route)>,
}

impl WebRoutes {
    /// No routes yet.
    pub fn new(paths: WebPaths) -> WebRoutes {
        WebRoutes {
            paths,
            known: HashMap::new(),
        }
    }

    /// Keeps the routes of a client and a server.
    pub fn keep(&mut self, (client, server): (usize, usize), routes: (Route, Route)) {
        self.known.insert((client as u32, server as u32), routes);
    }

    /// The routes of a client and a server; `add` makes them from their way where they are used for the first time.
    pub fn of(
        &mut self,
        (client, server): (usize, usize),
        add: impl FnOnce(&Path) -> (Route, Route),
    ) -> (Route, Route) {
        let paths = &self.paths;
        let known = self.known.entry((client as u32, server as u32));
        *known.or_insert_with(|| add(&paths.find((client, server))))
    }

    /// The routes that are known, in no order.
    pub fn known(&self) -> impl Iterator<Item = (Route, Route)> {
        self.known.values().copied()
    }
}

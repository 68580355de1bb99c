// SPDX-License-Identifier: MIT OR Apache-2.0
//! Paths of cgroups whose ids are known.

use std::collections::HashMap;

use crate::cgroup::hierarchy::{Cgroup, Hierarchy, OURS};
use crate::error::Result;

/// The paths that were found so far. An id is not used again while the system runs, so that a path stays true.
#[derive(Clone, Debug, Default)]
pub struct Paths {
    /// `None` for a cgroup that has been removed, or lies outside the visible part of the hierarchy.
    known: HashMap<u64, Option<String>>,
}

impl Paths {
    /// Returns the path of a cgroup as in `/proc/PID/cgroup`, if [`Self::find`] has found it.
    pub fn get(&self, id: u64) -> Option<&str> {
        self.known.get(&id)?.as_deref()
    }

    /// Looks for cgroups below the top of the hierarchy that is visible here, and forgets all others. Only ids that are new
    /// cost time.
    pub fn find(&mut self, mut wanted: Vec<u64>) {
        self.known.retain(|id, _| wanted.contains(id));
        wanted.retain(|id| !self.known.contains_key(id));
        if !wanted.is_empty() {
            // A path that cannot be read stays unknown.
            let _ = self.walk(&wanted);
            for id in wanted {
                self.known.entry(id).or_default();
            }
        }
    }

    fn walk(&mut self, wanted: &[u64]) -> Result<()> {
        let mut left: Vec<Cgroup> = vec![Hierarchy::find()?.open_given("/")?];
        while let Some(cgroup) = left.pop() {
            if wanted.contains(&cgroup.id()) {
                let path = cgroup.path().to_owned();
                self.known.insert(cgroup.id(), Some(path));
            }
            // A cgroup may be removed meanwhile.
            left.extend(cgroup.children().unwrap_or_default());
        }
        Ok(())
    }
}

impl FromIterator<(u64, String)> for Paths {
    fn from_iter<T: IntoIterator<Item = (u64, String)>>(paths: T) -> Self {
        let known = paths.into_iter().map(|(id, path)| (id, Some(path)));
        Self {
            known: known.collect(),
        }
    }
}

/// Returns the path without the cgroups that netnice has made for a command or a process: of the cgroup from which `run` was
/// called.
pub fn without_ours(mut path: &str) -> &str {
    while let Some((above, name)) = path.rsplit_once('/') {
        if !OURS.iter().any(|prefix| name.starts_with(prefix)) {
            break;
        }
        path = if above.is_empty() { "/" } else { above };
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_cgroup_is_found_by_its_id() {
        let own = Hierarchy::find().unwrap().of(None).unwrap();
        let mut paths = Paths::default();
        paths.find(vec![own.id(), u64::MAX]);
        assert_eq!(paths.get(own.id()), Some(own.path()));
        assert_eq!(paths.get(u64::MAX), None);
        paths.find(Vec::new());
        assert_eq!(paths.get(own.id()), None);
    }

    #[test]
    fn cgroups_of_runs_are_left_out_of_a_path() {
        for (path, expected) in [
            ("/system.slice/a.service", "/system.slice/a.service"),
            ("/user.slice/netnice-run-1", "/user.slice"),
            ("/netnice-run-1/netnice-pid-2-2", "/"),
            ("/netnice-run-1/other", "/netnice-run-1/other"),
            ("/", "/"),
        ] {
            assert_eq!(without_ours(path), expected);
        }
    }
}

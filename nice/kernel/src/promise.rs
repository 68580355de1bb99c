// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is promised to a running command: an hour from which it is an ordinary one, or a deadline.
//!
//! A process in the background keeps it, so that it holds however the caller ends. It goes by the wall clock: a machine that was
//! suspended finds the time right.

use std::fs::{self, File};
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use netnice_parameters::deadline::{News, Outlook, Plan};

use crate::attachment::{self, Attacher};
use crate::cgroup::hierarchy::{Cgroup, Hierarchy};
use crate::error::{Context, Result};
use crate::objects::pin_directory;
use crate::renice;
use crate::runtime::background;
use crate::runtime::keepers;
use crate::runtime::log;
use crate::runtime::pins::Pins;
use crate::sockets::connections;

/// Name of the process that keeps promises.
const KEEPER: &std::ffi::CStr = c"nn-promise";
/// Whoever waits for the command's last output waits for so long at most.
const LOOK: Duration = Duration::from_millis(200);
/// Looks from one reckoning of a deadline to the next.
const LOOKS_PER_RECKONING: u32 = 5;
/// In which the command's first process is in its cgroup.
const START: Duration = Duration::from_secs(30);

/// What is promised.
#[derive(Clone, Debug, Default)]
pub struct Promise {
    /// Low priority until then, and an ordinary command afterwards.
    pub until: Option<SystemTime>,
    /// All is moved by then.
    pub deadline: Option<Deadline>,
}

/// A deadline.
#[derive(Clone, Debug)]
pub struct Deadline {
    /// When all is to be done.
    pub by: SystemTime,
    /// What is to be sent or received, whichever is more.
    pub bytes: u64,
    /// Names the transfer: one that begins again under this name before the deadline goes on from where it was.
    pub name: u64,
}

impl Promise {
    /// Returns true if nothing is promised.
    pub fn is_empty(&self) -> bool {
        self.until.is_none() && self.deadline.is_none()
    }
}

/// How far a transfer with a deadline is: the record that its keeper writes for readers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Progress {
    /// Path of its cgroup.
    pub cgroup: String,
    /// The whole, in bytes.
    pub bytes: u64,
    /// What has been moved, in bytes.
    pub done: u64,
    /// The deadline, in seconds since 1970.
    pub by: u64,
    /// Rate needed from now on, in bytes per second.
    pub needs: u64,
    /// Rate of the last seconds, in bytes per second.
    pub has: u64,
}

impl Progress {
    fn directory() -> PathBuf {
        // What is in the home goes with its last user.
        pin_directory::home().with_file_name("netnice-deadlines")
    }

    fn file(name: u64) -> PathBuf {
        Self::directory().join(format!("{name:016x}"))
    }

    fn parse(text: &str) -> Option<Self> {
        let mut fields = text.lines();
        let mut number = || fields.next()?.parse().ok();
        Some(Self {
            bytes: number()?,
            done: number()?,
            by: number()?,
            needs: number()?,
            has: number()?,
            cgroup: fields.next()?.to_owned(),
        })
    }

    fn text(&self) -> String {
        let Self {
            cgroup,
            bytes,
            done,
            by,
            needs,
            has,
        } = self;
        format!("{bytes}\n{done}\n{by}\n{needs}\n{has}\n{cgroup}\n")
    }

    fn write(&self, name: u64) {
        // Without a place for it nobody can read how far the transfer is.
        let file = Self::file(name);
        let beside = file.with_extension("unfinished");
        let _ = pin_directory::make_directory(&Self::directory());
        let _ = fs::write(&beside, self.text()).and_then(|()| fs::rename(&beside, &file));
    }

    /// Removes the records of transfers whose deadline is over, and the directory with the last record.
    fn clear() {
        let now = since_epoch(SystemTime::now()).as_secs();
        for entry in fs::read_dir(Self::directory())
            .into_iter()
            .flatten()
            .flatten()
        {
            let text = fs::read_to_string(entry.path()).unwrap_or_default();
            if Self::parse(&text).is_none_or(|one| one.by <= now) {
                let _ = fs::remove_file(entry.path());
            }
        }
        let _ = fs::remove_dir(Self::directory());
    }

    /// Returns how far the transfers with a deadline are that run now.
    pub fn all() -> Vec<Progress> {
        let entries = fs::read_dir(Self::directory()).into_iter().flatten();
        let read = |entry: fs::DirEntry| Self::parse(&fs::read_to_string(entry.path()).ok()?);
        let mut all: Vec<Progress> = entries.flatten().filter_map(read).collect();
        let hierarchy = Hierarchy::find();
        all.retain(|one| {
            let cgroup = hierarchy.as_ref().ok().map(|all| all.open(&one.cgroup));
            cgroup.is_some_and(|cgroup| cgroup.is_ok())
        });
        all.sort_by(|one, other| one.cgroup.cmp(&other.cgroup));
        all
    }
}

/// Removes what is on record of transfers with a deadline, killed ones too. Those that run write theirs again.
pub fn forget_transfers() {
    // A missing directory is no error.
    let _ = fs::remove_dir_all(Progress::directory());
}

/// Starts the process that keeps a promise to the commands of a cgroup, whose floor is `least` in any case, in bytes per second. The
/// caller must not be in the cgroup yet.
pub(crate) fn keep(promise: &Promise, cgroup: &Cgroup, least: u64) -> Result<()> {
    let (path, promise) = (cgroup.path().to_owned(), promise.clone());
    let stderr = std::io::stderr();
    let stderr = stderr.as_fd().try_clone_to_owned();
    let stderr = stderr.doing(|| "copying the descriptor of stderr".to_owned())?;
    let number = stderr.as_raw_fd();
    background::spawn(KEEPER, Some(stderr.as_fd()), move || {
        // SAFETY: of all descriptors this process has kept this one, which belongs to nobody else here.
        let stderr = unsafe { OwnedFd::from_raw_fd(number) };
        let Ok(pins) = Pins::open() else { return };
        let mut keeper = Keeper {
            least,
            path,
            stderr: File::from(stderr),
            pins,
            attacher: None,
        };
        keeper.run(promise);
        let _ = keeper.pins.close();
    })
}

struct Keeper {
    least: u64,
    path: String,
    stderr: File,
    pins: Pins,
    /// Opened when the command runs: until then its programs may not be loaded.
    attacher: Option<Attacher>,
}

impl Keeper {
    fn tell(&mut self, text: &str) {
        // Nobody may read it any more.
        let _ = writeln!(self.stderr, "netnice: {text}");
        log::warn(&format!("of the command in {}: {text}", self.path));
    }

    /// Returns the cgroup while a process is in it.
    fn cgroup(&self) -> Option<Cgroup> {
        let cgroup = Hierarchy::find()
            .and_then(|all| all.open(&self.path))
            .ok()?;
        cgroup.is_populated().ok()?.then_some(cgroup)
    }

    fn run(&mut self, promise: Promise) {
        let begun = SystemTime::now();
        while self.cgroup().is_none() {
            if begun.elapsed().is_ok_and(|waited| waited > START) {
                return;
            }
            thread::sleep(LOOK);
        }
        let mut transfer = promise.deadline.map(Transfer::new);
        let mut until = promise.until;
        let mut looks = 0;
        while let Some(cgroup) = self.cgroup() {
            if until.is_some_and(|until| until <= SystemTime::now()) {
                until = None;
                if let Err(error) = release(&cgroup) {
                    self.tell(&format!("it keeps its low priority: {error}"));
                }
                if transfer.is_none() {
                    return;
                }
            }
            if let Some(transfer) = transfer
                .as_mut()
                .filter(|_| looks % LOOKS_PER_RECKONING == 0)
            {
                self.reckon(transfer, &cgroup);
            }
            looks += 1;
            thread::sleep(LOOK);
        }
        if let Some(transfer) = transfer {
            transfer.end();
        }
    }

    /// Sets the floor that the deadline needs.
    fn reckon(&mut self, transfer: &mut Transfer, cgroup: &Cgroup) {
        let opened = self
            .attacher
            .take()
            .map_or_else(|| Attacher::open(&self.pins), Ok);
        let Ok(attacher) = opened else { return };
        let finished = || attacher.totals(cgroup.id()).unwrap_or_default();
        let (sums, _) = connections::of_group(cgroup.id(), finished);
        let totals = &sums.totals;
        let over_udp = [
            totals.utp_bytes_sent + totals.udp_bytes_sent,
            totals.utp_bytes_received + totals.udp_bytes_received,
        ];
        let received = totals.bytes_received.max(totals.receiving_bytes);
        let moved = (totals.bytes_sent + over_udp[0]).max(received + over_udp[1]);
        let outlook = transfer.look(moved, cgroup);
        let floor = outlook.floor.max(self.least);
        // Where it fails the maps are opened again.
        if transfer.floor == Some(floor) || attacher.set_floor(cgroup.id(), floor).is_ok() {
            transfer.floor = Some(floor);
            self.attacher = Some(attacher);
        }
        if let Some(news) = outlook.news {
            let left = transfer
                .progress
                .bytes
                .saturating_sub(transfer.progress.done);
            self.tell(&in_words(news, left, &outlook));
        }
    }
}

/// A transfer with a deadline.
struct Transfer {
    deadline: Deadline,
    plan: Plan,
    progress: Progress,
    /// Moved before it was started again.
    before: u64,
    /// The floor that was set.
    floor: Option<u64>,
}

impl Transfer {
    fn new(deadline: Deadline) -> Self {
        let by = since_epoch(deadline.by);
        let earlier = fs::read_to_string(Progress::file(deadline.name));
        let earlier = earlier.ok().and_then(|text| Progress::parse(&text));
        let before =
            earlier.filter(|earlier| earlier.by == by.as_secs() && earlier.done < deadline.bytes);
        let before = before.map_or(0, |earlier| earlier.done);
        Self {
            plan: Plan::new(deadline.bytes, by),
            progress: Progress {
                bytes: deadline.bytes,
                by: by.as_secs(),
                ..Progress::default()
            },
            deadline,
            before,
            floor: None,
        }
    }

    fn look(&mut self, moved: u64, cgroup: &Cgroup) -> Outlook {
        let done = self.before + moved;
        let outlook = self.plan.look(since_epoch(SystemTime::now()), done);
        self.progress = Progress {
            cgroup: cgroup.path().to_owned(),
            done,
            needs: outlook.needs as u64,
            has: outlook.has as u64,
            ..self.progress.clone()
        };
        self.progress.write(self.deadline.name);
        outlook
    }

    /// Forgets a transfer that is done or too late; what is left of another may be begun again.
    fn end(self) {
        if self.progress.done >= self.progress.bytes {
            let _ = fs::remove_file(Progress::file(self.deadline.name));
        }
        Progress::clear();
    }
}

fn since_epoch(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn in_words(news: News, left: u64, outlook: &Outlook) -> String {
    let left = format!("{:.1} MB", left as f64 / 1e6);
    let rate = |bytes: f64| format!("{:.1} Mb/s", bytes * 8.0 / 1e6);
    match news {
        News::Missed => {
            format!("the deadline has passed with {left} left; it goes on as one ordinary flow")
        }
        News::WillMiss(late) => format!(
            "the deadline will be missed by {} min as it seems: {left} are left, which needs {}, and it has {}",
            late.as_secs().div_ceil(60),
            rate(outlook.needs),
            rate(outlook.has)
        ),
    }
}

/// Makes the connections of a cgroup ordinary ones, open ones included, while its sums go on.
fn release(cgroup: &Cgroup) -> Result<()> {
    let pins = Pins::open()?;
    let attacher = Attacher::open(&pins)?;
    attachment::detach(cgroup)?;
    attacher.forget_settings(cgroup.id())?;
    keepers::forget(pins.home(), cgroup.id());
    renice::set_open(&cgroup.processes_beneath()?, None, &attacher);
    pins.close()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_read_as_it_was_written() {
        let progress = Progress {
            cgroup: "/a b".to_owned(),
            bytes: 5,
            done: 4,
            by: 3,
            needs: 2,
            has: 1,
        };
        assert_eq!(Progress::parse(&progress.text()), Some(progress));
        assert_eq!(Progress::parse("5\n4\n"), None);
    }

    #[test]
    fn bad_news_has_the_figures() {
        let outlook = Outlook {
            floor: 0,
            needs: 650_000.0,
            has: 287_500.0,
            news: None,
        };
        let words = in_words(
            News::WillMiss(Duration::from_secs(61)),
            12_400_000,
            &outlook,
        );
        assert_eq!(
            words,
            "the deadline will be missed by 2 min as it seems: 12.4 MB are left, which needs 5.2 Mb/s, and it has 2.3 Mb/s"
        );
    }
}

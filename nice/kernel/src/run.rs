// SPDX-License-Identifier: MIT OR Apache-2.0
//! Low priority for this process and all that it starts from now on.

use std::collections::HashSet;

use nix::unistd::getpid;

use crate::cgroup::attachment::Attacher;
use crate::cgroup::hierarchy::{self, Cgroup, Hierarchy};
use crate::cgroup::others::{self, Other};
use crate::error::{Error, Result};
use crate::objects::control::{Control, Registered};
use crate::objects::pin_directory::PinDirectory;
use crate::promise::{self, Promise};
use crate::runtime::guard::remove_and_look;
use crate::runtime::journal::{self, Kind, Record};
use crate::runtime::keepers;
use crate::runtime::pins::Pins;
use crate::settings::{Direction, Settings, Udp};
use crate::sockets::connections::{self, Connection, Sums};
use crate::sockets::decisions::Recorder;
use crate::sockets::handed_in::{self, HandedIn};
use crate::sockets::process;
use crate::sockets::storage::SocketStorage;
use crate::supervisor::{self, Supervised};
use crate::udp::{self, Watch};

/// Proof that this process has low priority; reports the sums of its connections.
pub struct Entered {
    how: How,
    handed_in: HandedIn,
}

/// A process that has moved itself out of the cgroup that has low priority.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Outside {
    /// Number of the process.
    pub pid: i32,
    /// Path of the cgroup that it is in, as in `/proc/PID/cgroup`.
    pub cgroup: String,
}

enum How {
    Cgroup(Box<InCgroup>),
    Supervised(Supervised, Registered),
    /// An outer netnice supervisor governs this process already.
    Already,
}

struct InCgroup {
    attacher: Attacher,
    group: u64,
    path: String,
    registered: Registered,
    direction: Direction,
    /// Keep the control registered.
    _pins: Pins,
    /// Keeps the sums until they have been read.
    _record: Record,
}

/// Gives low priority to this process, which must have only one thread, and to all that it starts from now on. As root
/// by a cgroup; otherwise, or if that fails, by a supervisor.
///
/// # Errors
/// Of the cgroup, for root; of the supervisor otherwise.
pub fn enter(settings: &Settings, promise: &Promise) -> Result<Entered> {
    match nix::unistd::geteuid().is_root() {
        true => enter_as_root(settings, promise).or_else(|error| {
            // Root may lack capabilities, as in a container or a hardened service, or others have programs on a cgroup above
            // that permit none below. The control may be registered all the same.
            // Nobody but this call could have registered a control in a file.
            let by_others = !settings.control.is_from_file();
            if !may_be_supervised(settings, promise) || !by_others || error.is_of_request() {
                return Err(error);
            }
            enter_supervisor_without_pins(settings).map_err(|other| error.unless_of_request(other))
        }),
        false => enter_as_user(settings, promise),
    }
}

/// Returns whether a supervisor can do what is asked for: it sees neither received data nor UDP, and keeps no promises.
fn may_be_supervised(settings: &Settings, promise: &Promise) -> bool {
    settings.direction.sends()
        && !settings.no_quic
        && settings.udp != Udp::Yes
        && promise.is_empty()
}

fn enter_as_user(settings: &Settings, promise: &Promise) -> Result<Entered> {
    if !promise.is_empty() {
        return Err(Error::NeedsRoot {
            action: "keeping an hour or a deadline",
        });
    }
    if !settings.direction.sends() {
        return Err(Error::NeedsRoot {
            action: "governing what is received",
        });
    }
    if settings.no_quic {
        return Err(Error::NeedsRoot {
            action: "refusing QUIC",
        });
    }
    if settings.udp == Udp::Yes {
        return Err(Error::NeedsRoot {
            action: "governing UDP",
        });
    }
    enter_supervisor_without_pins(settings)
}

fn enter_as_root(settings: &Settings, promise: &Promise) -> Result<Entered> {
    let pins = Pins::open()?;
    let placed =
        own_cgroup(&pins).and_then(|cgroup| enter_cgroup(settings, promise, &pins, cgroup));
    match placed {
        Ok(placed) => Ok(placed.with(settings, pins)),
        // No cgroup2, or no writable one: a container may have it read-only. Or a program of others on a cgroup above permits
        // none below it.
        Err(error) if may_be_supervised(settings, promise) => {
            let (registered, attacher) =
                Attacher::with(settings, &pins).map_err(|other| error.unless_of_request(other))?;
            enter_supervisor(settings, registered, Some(attacher.storage()))
        }
        Err(error) => Err(error),
    }
}

/// This process in a cgroup of its own, with everything attached.
struct Placed {
    attacher: Attacher,
    group: u64,
    path: String,
    registered: Registered,
    record: Record,
}

impl Placed {
    fn with(self, settings: &Settings, pins: Pins) -> Entered {
        let handed_in = handed_in::govern(settings, Some(self.attacher.storage()));
        let how = How::Cgroup(Box::new(InCgroup {
            attacher: self.attacher,
            group: self.group,
            path: self.path,
            registered: self.registered,
            direction: settings.direction,
            _pins: pins,
            _record: self.record,
        }));
        Entered { how, handed_in }
    }
}

fn own_cgroup(pins: &Pins) -> Result<Cgroup> {
    let above = Hierarchy::find()?.of(None)?;
    // A failure here does not concern this run.
    let _ = journal::clear_unrecorded(pins.home(), &above);
    above.create_child(&format!("netnice-run-{}", getpid()))
}

/// Moves this process to `cgroup`, which is removed when the last process in it ends, even if netnice is killed before.
fn enter_cgroup(
    settings: &Settings,
    promise: &Promise,
    pins: &Pins,
    cgroup: Cgroup,
) -> Result<Placed> {
    let record = match Record::new(pins, Kind::Made, &cgroup) {
        Ok(record) => record,
        Err(error) => {
            // Without a record (/run may be full) no later call would remove the cgroup.
            let _ = cgroup.remove();
            return Err(error);
        }
    };
    let mut watch = Some(Watch::new(cgroup.id(), true));
    let watched = settings.wants_udp() && settings.udp != Udp::Yes;
    let look = |cgroup: &Cgroup, pins: &Pins| udp::look_at_made(&mut watch, cgroup, settings, pins);
    remove_and_look(&cgroup, settings, watched.then_some(look))?;
    udp::keep(&cgroup, settings, Kind::Made, pins)?;
    if !promise.is_empty() {
        promise::keep(promise, &cgroup, settings.floor())?;
    }
    // Moving waits for other processors, loading computes: they run in parallel.
    let (loaded, moved) = std::thread::scope(|scope| {
        let moving = scope.spawn(|| cgroup.enter(getpid().as_raw()));
        let loaded = Attacher::with(settings, pins);
        (loaded, moving.join().expect("moving does not panic"))
    });
    let (registered, attacher) = moved.and(loaded)?;
    attacher.count(cgroup.id())?;
    attacher.attach(&cgroup, settings)?;
    Ok(Placed {
        attacher,
        group: cgroup.id(),
        path: cgroup.path().to_owned(),
        registered,
        record,
    })
}

/// Without pins there is no map for parameters.
fn enter_supervisor_without_pins(settings: &Settings) -> Result<Entered> {
    settings.control.check_open_to_all()?;
    if settings.floor() > 0 {
        return Err(Error::NeedsRoot {
            action: "a floor under low priority",
        });
    }
    if !settings.parameters.is_default() {
        return Err(Error::NeedsRoot {
            action: "setting parameters of the control",
        });
    }
    enter_supervisor(settings, Registered::Already, None)
}

fn enter_supervisor(
    settings: &Settings,
    registered: Registered,
    storage: Option<&SocketStorage>,
) -> Result<Entered> {
    // Under the filter this process could no more set a control than the command can.
    let handed_in = handed_in::govern(settings, storage);
    let how = match supervisor::enter(settings) {
        Err(Error::Supervised) if supervisor::is_supervised(settings) => {
            match settings.parameters.is_default() {
                true => How::Already,
                false => return Err(Error::OuterSupervisor),
            }
        }
        other => How::Supervised(other?, registered),
    };
    Ok(Entered { how, handed_in })
}

impl Entered {
    /// Describes in words how the low priority is enforced.
    pub fn means(&self) -> &'static str {
        match &self.how {
            How::Cgroup(own) if own.registered == Registered::Foreign => {
                "cgroup, with a control that another netnice out of sight has registered"
            }
            How::Cgroup(_) => "cgroup",
            How::Supervised(_, Registered::Foreign) => {
                "supervisor, with a control that another netnice out of sight has registered"
            }
            How::Supervised(..) => "supervisor",
            How::Already => "supervisor of an outer `netnice run`",
        }
    }

    /// Returns the TCP sockets that this process had open before.
    pub fn handed_in(&self) -> HandedIn {
        self.handed_in
    }

    /// Returns the descendants of this process that have left its cgroup at this moment; none under a supervisor, which
    /// governs them in any cgroup.
    pub fn outside(&self) -> Vec<Outside> {
        let How::Cgroup(own) = &self.how else {
            return Vec::new();
        };
        let beneath = format!("{}/", own.path);
        let ours = process::with_descendants(getpid().as_raw()).unwrap_or_default();
        let placed = ours.into_iter().filter_map(|pid| {
            let cgroup = hierarchy::path_of(pid).ok()??;
            Some(Outside { pid, cgroup })
        });
        placed
            .filter(|one| one.cgroup != own.path && !one.cgroup.starts_with(&beneath))
            .collect()
    }

    /// Returns the socket programs of others that are called for the connections of this run, the nearest first; none under a
    /// supervisor.
    pub fn others(&self) -> Vec<Other> {
        self.cgroup()
            .map(|own| others::of(&own))
            .unwrap_or_default()
    }

    /// Sees to it that what others change on connections is set again, where they have been attached since this run began.
    pub fn keep(&self) {
        if let Some(own) = self.cgroup() {
            // What is then changed is counted.
            let _ = others::keep(&own, &PinDirectory::find());
        }
    }

    fn cgroup(&self) -> Option<Cgroup> {
        match &self.how {
            How::Cgroup(own) => Hierarchy::find().and_then(|all| all.open(&own.path)).ok(),
            How::Supervised(..) | How::Already => None,
        }
    }

    /// Returns why received data is not governed although both directions were requested.
    pub fn receive_refused(&self) -> Option<&str> {
        match &self.how {
            How::Cgroup(own) => own.attacher.receive_refused(),
            How::Supervised(..) | How::Already => None,
        }
    }

    /// Returns why uTP is not governed although that was requested; `None` under a supervisor, which cannot.
    pub fn utp_refused(&self) -> Option<&str> {
        match &self.how {
            How::Cgroup(own) => own.attacher.utp_refused(),
            How::Supervised(..) | How::Already => None,
        }
    }

    /// Returns what there is to tell of UDP other than uTP: how it is governed, or why not.
    pub fn other_udp(&self) -> Option<String> {
        match &self.how {
            How::Cgroup(own) => keepers::told(own._pins.home(), own.group),
            How::Supervised(..) | How::Already => None,
        }
    }

    /// Returns true if received data has low priority, too.
    pub fn receives(&self) -> bool {
        matches!(&self.how, How::Cgroup(own) if own.direction.receives())
            && self.receive_refused().is_none()
    }

    /// Begins to record netnice's decisions on the connections of this run.
    ///
    /// # Errors
    /// Under a supervisor, which cannot read them, and where another netnice has registered the control.
    pub fn record_decisions(&self) -> Result<Recorder> {
        match &self.how {
            How::Cgroup(own) if own.registered == Registered::Foreign => Err(Error::NoDecisions {
                control: Control::default_control().name(),
            }),
            How::Cgroup(own) => Recorder::begin(&PinDirectory::find(), own.group),
            How::Supervised(..) | How::Already => Err(Error::NeedsRoot {
                action: "recording decisions",
            }),
        }
    }

    /// Lists the open connections of the program. Under a supervisor these are the ones that the descendants of this process
    /// hold open.
    pub fn connections(&self) -> Result<Vec<Connection>> {
        let mut open = connections::list()?;
        match &self.how {
            How::Cgroup(own) => open.retain(|one| one.group() == Some(own.group)),
            How::Supervised(..) | How::Already => {
                let ours = process::with_descendants(getpid().as_raw())?;
                let sockets = ours.into_iter().flat_map(process::sockets);
                let inodes: HashSet<u64> = sockets.flatten().map(|(_, inode)| inode).collect();
                open.retain(|one| inodes.contains(&one.inode));
            }
        }
        Ok(open)
    }

    /// Returns the sums over the connections so far, including open ones; `None` if unknown. If the open ones cannot be
    /// listed, the sums cover the finished ones and the error says why.
    pub fn sums(&self) -> (Option<Sums>, Result<()>) {
        match &self.how {
            How::Already | How::Supervised(_, Registered::Foreign) => (None, Ok(())),
            How::Cgroup(own) if own.registered == Registered::Foreign => (None, Ok(())),
            How::Cgroup(own) => {
                let finished = || own.attacher.totals(own.group).unwrap_or_default();
                let (sums, listed) = connections::of_group(own.group, finished);
                (Some(sums), listed)
            }
            How::Supervised(supervised, _) => match supervised.sums() {
                Ok(sums) => (sums, Ok(())),
                Err(error) => (None, Err(error)),
            },
        }
    }
}

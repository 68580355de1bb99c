// SPDX-License-Identifier: MIT OR Apache-2.0
//! Low priority for the sockets of a cgroup: the programs of `bpf/placement.bpf.c`, and what each
//! cgroup asks of them.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use bytemuck::Zeroable;
use libbpf_rs::{MapCore, MapFlags, MapHandle, Program};

use crate::cgroup::Cgroup;
use crate::cgroup_programs::{self as programs, Hook};
use crate::control::{Control, Registered};
use crate::error::{Context, Error, Result, libbpf};
use crate::flow::{DSCP_LOWER_EFFORT, DSCP_UNCHANGED, Flow, Placement, Totals};
use crate::parameters::Parameters;
use crate::pins::{Loading, Pins};
use crate::programs::Set;
use crate::renice;
use crate::socket;

const PLACE: &str = "netnice_place";
const GUARD: &str = "netnice_guard";
const RECEIVE: &str = "netnice_receive";

/// The programs that a cgroup may have attached.
const ATTACHED: [(&str, Hook); 3] = [
    (PLACE, Hook::SocketOps),
    (GUARD, Hook::SetSockOpt),
    (RECEIVE, Hook::SocketOps),
];

/// Which way data has low priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Data that is sent, and data that is received.
    #[default]
    Both,
    /// Data that is sent, by a congestion control.
    Send,
    /// Data that is received, by the window that is advertised.
    Receive,
}

impl Direction {
    pub(crate) fn sends(self) -> bool {
        self != Self::Receive
    }

    pub(crate) fn receives(self) -> bool {
        self != Self::Send
    }
}

/// Which control connections are to have, and with what parameters.
#[derive(Clone, Copy)]
pub struct Settings {
    /// The congestion control.
    pub control: Control,
    /// What to set of the control.
    pub parameters: Parameters,
    /// Whether packets are to be marked DSCP LE (RFC 8622) as well.
    pub mark: bool,
    /// Which way data is to have low priority. The control, its mark and the guard over both are
    /// for what is sent. What is received is governed in cgroups only.
    pub direction: Direction,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            control: Control::default_control(),
            parameters: Parameters::default(),
            mark: true,
            direction: Direction::default(),
        }
    }
}

/// The loaded programs and shared maps.
pub struct Placer {
    place: OwnedFd,
    guard: OwnedFd,
    receive: Option<OwnedFd>,
    receive_refused: Option<String>,
    placements: MapHandle,
    flows: MapHandle,
    totals: MapHandle,
    /// State of sockets that receive at low priority; `None` if there are none.
    receptions: Option<MapHandle>,
}

impl Placer {
    /// Makes sure that the kernel has both a control and the programs of this version; what is
    /// missing is loaded at once, on one thread each, and pinned. Fails if the control would not
    /// heed the parameters.
    pub fn with(settings: &Settings, pins: &Pins) -> Result<(Registered, Self)> {
        let control = settings.control;
        let receives = settings.direction.receives();
        let there = !receives || receiving_programs().is_pinned(pins);
        if there && control.is_pinned(pins) && programs().is_pinned(pins) {
            return Ok((Registered::Already, Self::open_for(settings, None, pins)?));
        }
        let loading = pins.while_loading()?;
        std::thread::scope(|scope| {
            let registering = scope.spawn(|| control.register_while(&loading, pins));
            let receiving = scope.spawn(|| match receives {
                true => load(receiving_programs(), &loading, pins),
                false => Ok(()),
            });
            load(programs(), &loading, pins)?;
            let receiving = receiving.join().expect("loading does not panic");
            // Both directions were asked for: govern the one that works.
            let refused = match (receiving, settings.direction) {
                (Err(error), Direction::Both) => Some(error.to_string()),
                (other, _) => other.map(|()| None)?,
            };
            let registered = registering.join().expect("registering does not panic")?;
            if registered == Registered::Foreign && !settings.parameters.is_default() {
                let control = control.name();
                return Err(Error::Foreign { control });
            }
            Ok((registered, Self::open_for(settings, refused, pins)?))
        })
    }

    fn open_for(settings: &Settings, refused: Option<String>, pins: &Pins) -> Result<Self> {
        let mut opened = Self::open(pins)?;
        if settings.direction.receives() && refused.is_none() {
            opened.receive = Some(open_program(receiving_programs(), RECEIVE, pins)?);
        }
        opened.receive_refused = refused;
        Ok(opened)
    }

    /// Why received data is not governed although both directions were asked for.
    pub fn receive_refused(&self) -> Option<&str> {
        self.receive_refused.as_deref()
    }

    /// Makes sure that the kernel has the programs of this version that govern received data, and
    /// that they stay pinned until the last user of the pins has gone.
    pub fn load_receiving(pins: &Pins) -> Result<()> {
        load(receiving_programs(), &pins.while_loading()?, pins)
    }

    /// Takes the programs that are pinned, or loads and pins them; not what governs the receiving
    /// side, which [`Self::with`] adds.
    pub fn open(pins: &Pins) -> Result<Self> {
        if !programs().is_pinned(pins) {
            load(programs(), &pins.while_loading()?, pins)?;
        }
        let open_map = |name: &str| {
            MapHandle::from_pinned_path(pins.maps().join(name))
                .map_err(libbpf)
                .doing(|| format!("opening the pinned map {name}"))
        };
        Ok(Self {
            place: open_program(programs(), PLACE, pins)?,
            guard: open_program(programs(), GUARD, pins)?,
            receive: None,
            receive_refused: None,
            placements: open_map("placements")?,
            flows: open_map("flows")?,
            totals: open_map("totals")?,
            receptions: open_map("receptions").ok(),
        })
    }

    /// Gives the sockets that are made in a cgroup from now on what `settings` ask for.
    pub fn attach(&self, cgroup: &Cgroup, settings: &Settings) -> Result<()> {
        let attaching = || format!("attaching to the cgroup {}", cgroup.path());
        let receive = self
            .receive
            .as_ref()
            .filter(|_| settings.direction.receives());
        for (name, hook) in ATTACHED {
            let program = match name {
                PLACE => Some(&self.place),
                GUARD => Some(&self.guard),
                _ => receive,
            };
            let program = program.map(AsFd::as_fd);
            if let Some(program) = program {
                programs::attach(cgroup.as_fd(), program, hook).doing(attaching)?;
            }
            programs::detach(cgroup.as_fd(), name, hook, program).doing(attaching)?;
        }
        let placement = Placement {
            group: cgroup.id(),
            control: match settings.direction.sends() {
                true => crate::flow::padded(settings.control.name()),
                // Without one the programs for the sending side leave sockets alone.
                false => [0; 16],
            },
            dscp: if settings.mark {
                DSCP_LOWER_EFFORT
            } else {
                DSCP_UNCHANGED
            },
            parameters: settings.parameters,
            ..Placement::zeroed()
        };
        let key = cgroup.id().to_ne_bytes();
        self.placements
            .update(&key, bytemuck::bytes_of(&placement), MapFlags::ANY)
            .map_err(libbpf)
            .doing(attaching)
    }

    /// Gives a socket of this process what `settings` ask for, whatever its cgroup asks for; best
    /// before it is connected.
    pub fn govern(&self, socket: impl AsFd, settings: &Settings) -> Result<()> {
        let putting = || format!("putting {} on a socket", settings.control.name());
        match renice::place(&socket, settings, Some(self)).doing(putting)? {
            true => Ok(()),
            false => Err(io::Error::other("it has another control")).doing(putting),
        }
    }

    /// How often the control of a socket of this process has given up the window to others; `None`
    /// where none of our controls governs it.
    pub fn yields(&self, socket: impl AsFd) -> Option<u32> {
        self.flow(socket)
            .filter(|flow| flow.since_ns > 0)
            .map(|flow| flow.report.yields)
    }

    /// Makes a place for sums over the finished connections of a cgroup's sockets.
    pub fn count(&self, group: u64) -> Result<()> {
        let zero = Totals::default();
        self.totals
            .update(
                &group.to_ne_bytes(),
                bytemuck::bytes_of(&zero),
                MapFlags::ANY,
            )
            .map_err(libbpf)
            .doing(|| "making a place for sums".into())
    }

    /// The sums over the finished connections of a cgroup's sockets, if [`Self::count`] was called.
    pub fn totals(&self, group: u64) -> Option<Totals> {
        let bytes = self
            .totals
            .lookup(&group.to_ne_bytes(), MapFlags::ANY)
            .ok()??;
        bytemuck::try_pod_read_unaligned(&bytes).ok()
    }

    /// Removes the sums of a group.
    pub(crate) fn forget_totals(&self, group: u64) {
        // That there is nothing to remove is no error.
        let _ = self.totals.delete(&group.to_ne_bytes());
    }

    /// Writes beside a socket what a control is to find there when it takes over.
    pub(crate) fn set_flow(&self, socket: impl AsFd, flow: &Flow) -> Result<()> {
        self.flows
            .update(&key_of(&socket), bytemuck::bytes_of(flow), MapFlags::ANY)
            .map_err(libbpf)
            .doing(|| "writing the settings of a connection".into())
    }

    /// What is kept beside a socket, if one of our controls has been put on it.
    pub(crate) fn flow(&self, socket: impl AsFd) -> Option<Flow> {
        let bytes = self.flows.lookup(&key_of(&socket), MapFlags::ANY).ok()??;
        bytemuck::try_pod_read_unaligned(&bytes).ok()
    }

    /// Lets a socket that receives at low priority advertise what it would without us; returns
    /// whether it was one.
    pub(crate) fn release_window(&self, socket: impl AsFd) -> bool {
        let forget = |map: &MapHandle| map.delete(&key_of(&socket)).is_ok();
        // The program leaves a socket alone of which nothing is kept.
        let governed = self.receptions.as_ref().is_some_and(forget);
        // A window that was small would else remain so, as nothing would tune it.
        governed && socket::raise_window_clamp(&socket).is_ok()
    }

    /// Forgets what is kept beside a socket.
    pub(crate) fn forget_flow(&self, socket: impl AsFd) {
        // That there is nothing to forget is no error.
        let _ = self.flows.delete(&key_of(&socket));
    }
}

/// Takes low priority off the sockets that are made in a cgroup from now on; returns whether
/// there was something to take off.
pub fn detach(cgroup: &Cgroup) -> Result<bool> {
    let mut detached = 0;
    for (name, hook) in ATTACHED {
        detached += programs::detach(cgroup.as_fd(), name, hook, None)
            .doing(|| format!("detaching from the cgroup {}", cgroup.path()))?;
    }
    Ok(detached > 0)
}

/// Whether a cgroup asks for low priority.
pub fn is_attached(cgroup: &Cgroup) -> Result<bool> {
    programs::is_attached(cgroup.as_fd(), PLACE, Hook::SocketOps)
        .doing(|| format!("asking what is attached to the cgroup {}", cgroup.path()))
}

/// Removes the sums of a group from the pinned map, where there is one.
pub(crate) fn forget_totals(bpf: &Path, group: u64) {
    if let Ok(totals) = MapHandle::from_pinned_path(bpf.join("maps/totals")) {
        // That there is nothing to forget is no error.
        let _ = totals.delete(&group.to_ne_bytes());
    }
}

fn programs() -> Set {
    Set::new("placement")
}

fn receiving_programs() -> Set {
    Set::new("receive")
}

fn open_program(set: Set, name: &str, pins: &Pins) -> Result<OwnedFd> {
    Program::fd_from_pinned_path(set.directory(pins).join(name))
        .map_err(libbpf)
        .doing(|| format!("opening the pinned program {name}"))
}

fn load(set: Set, loading: &Loading, pins: &Pins) -> Result<()> {
    set.load(loading, pins, |loaded, directory| {
        for mut program in loaded.progs_mut() {
            program.pin(directory.join(program.name()))?;
        }
        Ok(())
    })
}

fn key_of(socket: &impl AsFd) -> [u8; 4] {
    use std::os::fd::AsRawFd;
    socket.as_fd().as_raw_fd().to_ne_bytes()
}

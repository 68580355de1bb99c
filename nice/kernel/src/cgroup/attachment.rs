// SPDX-License-Identifier: MIT OR Apache-2.0
//! Low priority for the sockets of a cgroup: the programs of `bpf/attachment.bpf.c`, `bpf/receive_NAME.bpf.c`, `bpf/quic.bpf.c`
//! and `bpf/utp.bpf.c`, and the settings of each cgroup.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use bytemuck::Zeroable;
use libbpf_rs::{MapCore, MapFlags, MapHandle, Program};

use crate::abi::{
    Attachment, DSCP_LOWER_EFFORT, DSCP_UNCHANGED, Totals, UtpGroup, padded, unpadded,
};
use crate::cgroup::hierarchy::Cgroup;
use crate::cgroup::interfaces::{self, Way};
use crate::cgroup::others;
use crate::cgroup::programs::{self, Hook};
use crate::error::{Context, Error, Result, libbpf};
use crate::features;
use crate::objects::control::{Control, Registered};
use crate::objects::pin_directory::{Loading, PinDirectory};
use crate::objects::programs::Set;
use crate::settings::{Direction, Settings, Udp};
use crate::sockets::governance;
use crate::sockets::storage::SocketStorage;

const PLACE: &str = "netnice_place";
const GUARD: &str = "netnice_guard";
const RECEIVE: &str = "netnice_receive";
const WINDOW: &str = "netnice_window";
const UTP: &str = "netnice_utp";

/// Programs that refuse QUIC.
const QUIC: [(&str, Hook); 4] = [
    ("netnice_conn4", Hook::Connect4),
    ("netnice_conn6", Hook::Connect6),
    ("netnice_send4", Hook::SendMsg4),
    ("netnice_send6", Hook::SendMsg6),
];

/// Other programs that a cgroup may have attached.
const ATTACHED: [(&str, Hook); 3] = [
    (PLACE, Hook::SocketOps),
    (GUARD, Hook::SetSockOpt),
    (RECEIVE, Hook::SocketOps),
];

/// The loaded programs and shared maps.
pub struct Attacher {
    place: OwnedFd,
    guard: OwnedFd,
    receive: Option<OwnedFd>,
    receive_refused: Option<String>,
    utp_refused: Option<String>,
    /// In the order of [`QUIC`]; empty unless QUIC is to be refused.
    quic: Vec<OwnedFd>,
    attachments: MapHandle,
    storage: SocketStorage,
}

impl Attacher {
    /// Ensures that the kernel has both a control and the programs of this version; loads and pins missing ones in
    /// parallel, one thread each. Fails if the control would ignore the parameters.
    pub fn with(settings: &Settings, pins: &PinDirectory) -> Result<(Registered, Self)> {
        let control = settings.control;
        let receives = settings.direction.receives();
        if settings.no_quic {
            Self::load_quic(pins)?;
        }
        let receiving = receiving_programs(control);
        let later = settings.udp == Udp::Soon && !utp_program().is_pinned(pins);
        let utp = (settings.wants_udp() && !later).then(|| utp_is_possible(pins));
        let loads_utp = matches!(utp, Some(Ok(())));
        let there = (!receives || receiving.is_pinned(pins))
            && (!loads_utp || utp_program().is_pinned(pins));
        if there && control.is_pinned(pins) && programs().is_pinned(pins) {
            let mut opened = Self::open_for(settings, None, pins)?;
            opened.attach_to_interfaces(control, pins);
            opened.govern_utp(settings, utp, pins)?;
            return Ok((Registered::Already, opened));
        }
        let loading = pins.while_loading()?;
        std::thread::scope(|scope| {
            let registering = scope.spawn(|| control.register_while(&loading, pins));
            let loading_receiving = scope.spawn(|| match receives {
                true => load(receiving, &loading, pins),
                false => Ok(()),
            });
            let loading_utp = scope.spawn(|| match loads_utp {
                true => load(utp_program(), &loading, pins),
                false => Ok(()),
            });
            load(programs(), &loading, pins)?;
            let received = loading_receiving.join().expect("loading does not panic");
            // Both directions were requested: govern the one that works.
            let refused = match (received, settings.direction) {
                (Err(error), Direction::Both) => Some(error.to_string()),
                (other, _) => other.map(|()| None)?,
            };
            let registered = registering.join().expect("registering does not panic")?;
            if registered == Registered::Foreign && !settings.parameters.is_default() {
                let control = control.name();
                return Err(Error::Foreign { control });
            }
            let utp_loaded = loading_utp.join().expect("loading does not panic");
            let utp_loaded = utp_loaded.map_err(|error| error.to_string());
            let utp = utp.map(|possible| possible.and(utp_loaded));
            let mut opened = Self::open_for(settings, refused, pins)?;
            opened.attach_to_interfaces(control, pins);
            opened.govern_utp(settings, utp, pins)?;
            Ok((registered, opened))
        })
    }

    fn open_for(settings: &Settings, refused: Option<String>, pins: &PinDirectory) -> Result<Self> {
        let mut opened = Self::open(pins)?;
        if settings.direction.receives() && refused.is_none() {
            let programs = receiving_programs(settings.control);
            opened.receive = Some(open_program(programs, RECEIVE, pins)?);
        }
        opened.receive_refused = refused;
        if settings.no_quic {
            let open = |(name, _)| open_program(quic_programs(), name, pins);
            opened.quic = QUIC.into_iter().map(open).collect::<Result<_>>()?;
        }
        Ok(opened)
    }

    /// Lets the connections of a group close their windows, for as long as the pins are there, if the control's receiver
    /// does so. Without it, windows are small instead.
    fn attach_to_interfaces(&self, control: Control, pins: &PinDirectory) {
        let receiving = receiving_programs(control);
        if self.receive.is_some() {
            let _ = open_program(receiving, WINDOW, pins).map(|program| {
                interfaces::attach(
                    program.as_fd(),
                    Way::Out,
                    &receiving.directory(pins),
                    "window",
                )
            });
        }
    }

    /// Governs uTP for as long as the pins are there, if that is wanted and `possible`, otherwise notes why not.
    fn govern_utp(
        &mut self,
        settings: &Settings,
        possible: Option<std::result::Result<(), String>>,
        pins: &PinDirectory,
    ) -> Result<()> {
        let attach = |()| attach_utp(pins).map_err(|error| error.to_string());
        let refused = possible.and_then(|possible| possible.and_then(attach).err());
        match &refused {
            Some(reason) if settings.udp == Udp::Yes => {
                let reason = reason.clone();
                return Err(Error::NoUtp { reason });
            }
            _ => self.utp_refused = refused,
        }
        Ok(())
    }

    /// Governs uTP of a cgroup with these settings, where [`Self::with`] has left it for later.
    pub(crate) fn govern_utp_now(
        cgroup: &Cgroup,
        settings: &Settings,
        pins: &PinDirectory,
    ) -> Result<()> {
        if utp_is_possible(pins).is_ok() {
            load_if_missing(utp_program(), pins)?;
        }
        attach_utp(pins)?;
        SocketStorage::open(pins)?.set_utp(cgroup.id(), Some(&utp_group(settings)))
    }

    /// Returns why uTP is not governed although that was requested.
    pub fn utp_refused(&self) -> Option<&str> {
        self.utp_refused.as_deref()
    }

    /// Returns why received data is not governed although both directions were requested.
    pub fn receive_refused(&self) -> Option<&str> {
        self.receive_refused.as_deref()
    }

    /// Ensures that the kernel has the programs of this version that govern received data, and that they stay pinned
    /// until the last user of the pins has gone.
    pub fn load_receiving(pins: &PinDirectory) -> Result<()> {
        let loading = pins.while_loading()?;
        Control::receivers()
            .try_for_each(|control| load(receiving_programs(control), &loading, pins))
    }

    /// Fails if the connections of a group cannot close their windows: before Linux 6.6.
    pub fn try_closing(pins: &PinDirectory) -> Result<()> {
        let programs = receiving_programs(Control::default_control());
        let program = open_program(programs, WINDOW, pins)?;
        interfaces::can_attach(program.as_fd()).doing(attaching_to_interface)
    }

    /// Ensures that the kernel has the program of this version that governs uTP, and can attach it.
    pub fn try_utp(pins: &PinDirectory) -> Result<()> {
        load_if_missing(utp_program(), pins)?;
        let program = open_program(utp_program(), UTP, pins)?;
        interfaces::can_attach(program.as_fd()).doing(attaching_to_interface)
    }

    /// Ensures that the kernel has the programs of this version that refuse QUIC, as [`Self::load_receiving`] does.
    pub fn load_quic(pins: &PinDirectory) -> Result<()> {
        load_if_missing(quic_programs(), pins)
    }

    /// Opens the pinned programs, or loads and pins them, except those for received data, uTP and against QUIC, which
    /// [`Self::with`] adds.
    pub fn open(pins: &PinDirectory) -> Result<Self> {
        load_if_missing(programs(), pins)?;
        Ok(Self {
            place: open_program(programs(), PLACE, pins)?,
            guard: open_program(programs(), GUARD, pins)?,
            receive: None,
            receive_refused: None,
            utp_refused: None,
            quic: Vec::new(),
            attachments: pins.open_map("attachments")?,
            storage: SocketStorage::open(pins)?,
        })
    }

    /// Applies `settings` to the sockets created in a cgroup from now on.
    pub fn attach(&self, cgroup: &Cgroup, settings: &Settings) -> Result<()> {
        let attaching = || format!("attaching to the cgroup {}", cgroup.path());
        for (name, hook, program) in self.wanted(settings) {
            if let Some(program) = program {
                programs::attach(cgroup.as_fd(), program, hook).doing(attaching)?;
            }
            programs::detach(cgroup.as_fd(), name, hook, program).doing(attaching)?;
        }
        self.storage.set_floor(cgroup.id(), settings.floor())?;
        self.storage
            .set_utp(cgroup.id(), Some(&utp_group(settings)))?;
        let attachment = attachment(cgroup, settings);
        let key = cgroup.id().to_ne_bytes();
        self.attachments
            .update(&key, bytemuck::bytes_of(&attachment), MapFlags::ANY)
            .map_err(libbpf)
            .doing(attaching)?;
        // Without it connections are governed all the same, but for those that others change; those are counted.
        let _ = others::keep(cgroup, &PinDirectory::find());
        Ok(())
    }

    /// Returns true if [`Self::attach`] would change nothing.
    fn has_attached(&self, cgroup: &Cgroup, settings: &Settings) -> Result<bool> {
        let reading = || format!("reading what is attached to the cgroup {}", cgroup.path());
        for (name, hook, program) in self.wanted(settings) {
            if !programs::is_only(cgroup.as_fd(), name, hook, program).doing(reading)? {
                return Ok(false);
            }
        }
        if !self.storage.has_utp(cgroup.id(), &utp_group(settings)) {
            return Ok(false);
        }
        let found = self
            .attachments
            .lookup(&cgroup.id().to_ne_bytes(), MapFlags::ANY)
            .map_err(libbpf)
            .doing(reading)?;
        let wanted = attachment(cgroup, settings);
        Ok(found.as_deref() == Some(bytemuck::bytes_of(&wanted)))
    }

    /// Returns each program's name and hook, and the program itself where `settings` ask for it.
    fn wanted(
        &self,
        settings: &Settings,
    ) -> impl Iterator<Item = (&'static str, Hook, Option<BorrowedFd<'_>>)> {
        let receives = settings.direction.receives();
        let no_quic = settings.no_quic;
        let others = ATTACHED.into_iter().map(move |(name, hook)| {
            let program = match name {
                PLACE => Some(&self.place),
                GUARD => Some(&self.guard),
                _ => self.receive.as_ref().filter(|_| receives),
            };
            (name, hook, program.map(AsFd::as_fd))
        });
        let quic = QUIC.into_iter().enumerate();
        others.chain(quic.map(move |(at, (name, hook))| {
            let program = self.quic.get(at).filter(|_| no_quic);
            (name, hook, program.map(AsFd::as_fd))
        }))
    }

    /// Applies `settings` to a socket of this process, whatever its cgroup's settings; best before it is connected.
    pub fn govern(&self, socket: impl AsFd, settings: &Settings) -> Result<()> {
        let putting = || format!("putting {} on a socket", settings.control.name());
        match governance::govern(&socket, settings, Some(&self.storage)).doing(putting)? {
            true => Ok(()),
            false => Err(io::Error::other("it has another control")).doing(putting),
        }
    }

    /// Returns how often the control of a socket of this process has yielded; `None` if none of netnice's controls
    /// governs it.
    pub fn yields(&self, socket: impl AsFd) -> Option<u32> {
        self.storage
            .flow(socket)
            .filter(|flow| flow.since_ns > 0)
            .map(|flow| flow.report.yields)
    }

    /// Creates the entry for sums over the finished connections of a cgroup's sockets.
    pub fn count(&self, group: u64) -> Result<()> {
        self.storage.count(group)
    }

    /// Returns the sums over the finished connections of a cgroup's sockets, if [`Self::count`] was called.
    pub fn totals(&self, group: u64) -> Option<Totals> {
        self.storage.totals(group)
    }

    /// Sets the rate that the sockets of a group get at least together, in bytes per second; 0 for no floor. The group is a cgroup's
    /// number, or any other that [`Settings::group`] has.
    pub fn set_floor(&self, group: u64, bytes_per_second: u64) -> Result<()> {
        self.storage.set_floor(group, bytes_per_second)
    }

    /// Forgets what a group was given beside its attached programs: its floor, and that uTP is governed.
    pub(crate) fn forget_settings(&self, group: u64) -> Result<()> {
        self.storage.set_utp(group, None)?;
        self.storage.set_floor(group, 0)
    }

    /// Returns the records of sockets.
    pub(crate) fn storage(&self) -> &SocketStorage {
        &self.storage
    }
}

/// Returns the record by which the programs know the settings of a cgroup.
fn attachment(cgroup: &Cgroup, settings: &Settings) -> Attachment {
    Attachment {
        group: cgroup.id(),
        control: match settings.direction.sends() {
            true => padded(settings.control.name()),
            // Without a control the programs for the sending side leave sockets alone.
            false => [0; 16],
        },
        dscp: if settings.mark {
            DSCP_LOWER_EFFORT
        } else {
            DSCP_UNCHANGED
        },
        parameters: settings.parameters,
        ..Attachment::zeroed()
    }
}

/// Returns the settings by which the sockets of a cgroup have low priority for what they send, as the programs know them; `None` if
/// they have not.
pub(crate) fn sending_settings(cgroup: &Cgroup, pins: &PinDirectory) -> Option<Settings> {
    let attachments = pins.open_map("attachments").ok()?;
    let found = attachments.lookup(&cgroup.id().to_ne_bytes(), MapFlags::ANY);
    let found: Attachment = bytemuck::try_pod_read_unaligned(&found.ok()??).ok()?;
    let settings = Settings {
        control: Control::find(&unpadded(&found.control)).ok()?,
        parameters: found.parameters,
        mark: found.dscp == DSCP_LOWER_EFFORT,
        ..Settings::default()
    };
    Some(settings.within(cgroup.id()))
}

/// Returns the record by which the programs know how to govern UDP of a cgroup. Where neither direction is governed it keeps
/// the settings of a cgroup above from it.
pub(crate) fn utp_group(settings: &Settings) -> UtpGroup {
    let wanted = settings.wants_udp();
    UtpGroup {
        parameters: settings.netnice_parameters(),
        sends: (wanted && settings.direction.sends()).into(),
        receives: (wanted && settings.direction.receives()).into(),
        ..UtpGroup::zeroed()
    }
}

/// Returns why the kernel cannot have a program that governs uTP, if that is known without a trial.
fn utp_is_possible(pins: &PinDirectory) -> std::result::Result<(), String> {
    // Reading the kernel's types takes longer than all else where everything is loaded.
    match utp_program().is_pinned(pins) || features::TCX.is_there() {
        true => Ok(()),
        false => Err(format!("the kernel lacks {}", features::TCX)),
    }
}

/// Attaches the program that governs uTP to the interfaces, for what leaves and for what arrives.
fn attach_utp(pins: &PinDirectory) -> Result<()> {
    let directory = utp_program().directory(pins);
    let program = open_program(utp_program(), UTP, pins)?;
    for (way, name) in [(Way::Out, "out"), (Way::In, "in")] {
        interfaces::attach(program.as_fd(), way, &directory, name).doing(attaching_to_interface)?;
    }
    Ok(())
}

fn attaching_to_interface() -> String {
    "attaching to a network interface (tcx)".to_owned()
}

/// Returns true if a cgroup has low priority with these settings, by the programs and the control of this version. Received
/// data counts as governed where the programs for it are not loaded. Needs root; loads nothing.
pub(crate) fn has(cgroup: &Cgroup, settings: &Settings) -> Result<bool> {
    let pins = PinDirectory::find();
    let loaded = programs().is_pinned(&pins)
        && settings.control.is_pinned(&pins)
        && (!settings.no_quic || quic_programs().is_pinned(&pins));
    if !loaded {
        return Ok(false);
    }
    let receiving = receiving_programs(settings.control);
    let refused = (!receiving.is_pinned(&pins)).then(String::new);
    Attacher::open_for(settings, refused, &pins)?.has_attached(cgroup, settings)
}

/// Removes low priority from the sockets created in a cgroup from now on; returns true if it had any.
pub fn detach(cgroup: &Cgroup) -> Result<bool> {
    let mut detached = 0;
    for (name, hook) in ATTACHED.into_iter().chain(QUIC) {
        detached += programs::detach(cgroup.as_fd(), name, hook, None)
            .doing(|| format!("detaching from the cgroup {}", cgroup.path()))?;
    }
    Ok(detached > 0)
}

/// Returns true if a cgroup requests low priority.
pub fn is_attached(cgroup: &Cgroup) -> Result<bool> {
    programs::is_attached(cgroup.as_fd(), PLACE, Hook::SocketOps)
        .doing(|| format!("asking what is attached to the cgroup {}", cgroup.path()))
}

/// Returns true if QUIC is refused to the sockets of a cgroup. Needs root.
pub(crate) fn refuses_quic(cgroup: &Cgroup) -> Result<bool> {
    let (name, hook) = QUIC[0];
    programs::is_attached(cgroup.as_fd(), name, hook)
        .doing(|| format!("asking what is attached to the cgroup {}", cgroup.path()))
}

fn programs() -> Set {
    Set::new("attachment")
}

/// The programs that govern what is received under a control.
fn receiving_programs(control: Control) -> Set {
    Set::new(&control.receiving_object())
}

fn utp_program() -> Set {
    Set::new("utp")
}

fn quic_programs() -> Set {
    Set::new("quic")
}

pub(super) fn open_program(set: Set, name: &str, pins: &PinDirectory) -> Result<OwnedFd> {
    Program::fd_from_pinned_path(set.directory(pins).join(name))
        .map_err(libbpf)
        .doing(|| format!("opening the pinned program {name}"))
}

/// Loads and pins programs unless they are pinned: then it need not wait for another process that loads.
fn load_if_missing(set: Set, pins: &PinDirectory) -> Result<()> {
    match set.is_pinned(pins) {
        true => Ok(()),
        false => load(set, &pins.while_loading()?, pins),
    }
}

pub(super) fn load(set: Set, loading: &Loading, pins: &PinDirectory) -> Result<()> {
    set.load(loading, pins, |loaded, directory| {
        for mut program in loaded.progs_mut() {
            program.pin(directory.join(program.name()))?;
        }
        Ok(())
    })
}

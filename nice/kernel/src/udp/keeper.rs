// SPDX-License-Identifier: MIT OR Apache-2.0
//! The process that governs UDP of one cgroup. It holds all that it needs in the kernel by descriptors alone, so that nothing is left
//! of it however it ends, and what waits in its queues is all that is lost.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use bytemuck::{Pod, Zeroable};
use libbpf_rs::libbpf_sys::{BPF_TCX_EGRESS, BPF_TCX_INGRESS};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use super::aggregate::{Aggregate, Echo};
use super::echo::Echoes;
use super::queue::{Namespaces, QUEUES, Queue, Rate};
use crate::cgroup::hierarchy::{Cgroup, Hierarchy};
use crate::cgroup::{interfaces, link};
use crate::error::{Context, Result, libbpf};
use crate::objects::compiled::Object;
use crate::objects::parameters::Parameters;
use crate::objects::pin_directory::PinDirectory;
use crate::runtime::journal::Kind;
use crate::runtime::keepers::Record;
use crate::runtime::log;
use crate::runtime::pins::Pins;
use crate::settings::Settings;

/// In which the command's first process is in its cgroup.
const START: Duration = Duration::from_secs(30);
/// Between looks at what the group moves while nothing is governed.
const LOOK: Duration = Duration::from_millis(200);
/// Between looks at the cgroup, the record and other peers.
const REVIEW: Duration = Duration::from_secs(1);
/// Moved from one look to the next, from which on it is governed: 0.5 Mb/s.
const BULK_BYTES: u64 = 12_500;
/// Without so much as a packet to hold: then nothing is governed any more.
const QUIET: Duration = Duration::from_secs(10);
/// For the first reply of a peer, and from then on without any.
const PATIENCE: Duration = Duration::from_secs(1);
/// Until a peer that does not answer is asked again.
const SILENCE: Duration = Duration::from_secs(60);
/// Looks in a row at which another peer moves most, before it is the one asked.
const OTHER_PEER: u32 = 3;
/// In the first second, and behind a peer that moves a quarter of that, no other one is chosen.
const MAIN_PART: u64 = 4;
/// Bytes that a token bucket passes at once: two full packets, or what leaves in a millisecond.
const PAIR_BYTES: u32 = 3100;
/// The shortest queue, in bytes: the first flight of a few connections.
const SHORTEST_QUEUE: u64 = 60_000;
/// Round trips of the path's rate that a queue holds: a sender whose window drops by half does not empty it.
const QUEUE_ROUNDS: u64 = 2;
const SHORTEST_ROUND_US: u64 = 20_000;
/// Packets of full size, with a header of Ethernet.
const PACKET_BYTES: u64 = 1514;
/// A rate is set anew once it has moved by this part: each time the bucket is full again.
const RATE_PARTS: u64 = 64;
/// A rate that never holds a packet, in bytes per second.
const UNLIMITED: u64 = 1 << 31;

/// A direction of packets; the numbers are those of `enum way`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Out,
}

const WAYS: [Way; 1] = [Way::Out];

/// `struct udp_settings` of `bpf/udp.bpf.c`.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
struct UdpSettings {
    group: u64,
    device: u32,
    queues: [u32; 2],
    link_header: u32,
}

/// `struct udp_counts`: bytes.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
struct UdpCounts {
    held: u64,
    passed: u64,
}

/// `struct udp_peer`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Pod, Zeroable)]
#[repr(C)]
struct UdpPeer {
    address: [u8; 16],
    device: u32,
    version: u32,
}

impl UdpPeer {
    fn ip(&self) -> IpAddr {
        match self.version {
            4 => {
                let [a, b, c, d, ..] = self.address;
                Ipv4Addr::new(a, b, c, d).into()
            }
            _ => Ipv6Addr::from(self.address).into(),
        }
    }
}

/// Loads the programs, makes a queue and sets its rate, and leaves nothing behind.
pub(super) fn attempt(pins: &PinDirectory) -> Result<()> {
    let programs = Programs::load(pins)?;
    interfaces::can_attach(programs.descriptor("netnice_udp")?.as_fd())
        .doing(|| "attaching to a network interface (tcx)".to_owned())?;
    // In a thread, whose namespaces are its own.
    thread::scope(|scope| {
        let tried = scope.spawn(|| {
            let namespaces = Namespaces::new()?;
            let name = format!("{QUEUES}{:x}t", std::process::id());
            let mut queue = programs.queue(&namespaces, &name, Way::Out)?;
            let rate = Rate {
                rate: UNLIMITED,
                burst: PAIR_BYTES,
                limit: SHORTEST_QUEUE as u32,
            };
            let set = namespaces.set(&mut queue, rate);
            namespaces.remove(queue);
            set
        });
        tried.join().expect("trying does not panic")
    })
}

/// Governs until the cgroup is gone, or empty if netnice has made it, or until the record is another's.
pub(super) fn run(
    path: &str,
    id: u64,
    settings: &Settings,
    kind: Kind,
    record: Record,
    stderr: File,
) {
    let Ok(pins) = Pins::open() else { return };
    // The cgroup in which this process was started may be governed, or end with a session.
    if let Ok(root) = Hierarchy::find().and_then(|all| all.open("/")) {
        let _ = root.enter(std::process::id() as i32);
    }
    let mut keeper = Keeper {
        path: path.to_owned(),
        id,
        kind,
        record,
        stderr,
        parameters: super::parameters(settings),
        silent: HashMap::new(),
        looked: HashMap::new(),
    };
    if keeper.wait_for_begin() {
        if let Err(error) = keeper.govern(&pins) {
            keeper.record.tell(&format!("not governed: {error}"));
        }
    }
    let _ = pins.close();
}

struct Keeper {
    path: String,
    id: u64,
    kind: Kind,
    record: Record,
    stderr: File,
    parameters: Parameters,
    /// Peers that do not answer, and since when.
    silent: HashMap<UdpPeer, Instant>,
    /// What peers had moved at the last look, in bytes.
    looked: HashMap<UdpPeer, u64>,
}

impl Keeper {
    fn say(&mut self, text: &str) {
        // Nobody may read it any more.
        let _ = writeln!(self.stderr, "netnice: {text}");
        log::warn(&format!("of the commands in {}: {text}", self.path));
    }

    fn cgroup(&self) -> Option<Cgroup> {
        let cgroup = Hierarchy::find()
            .and_then(|all| all.open(&self.path))
            .ok()?;
        (cgroup.id() == self.id).then_some(cgroup)
    }

    fn wait_for_begin(&self) -> bool {
        let begun = Instant::now();
        loop {
            let populated = self.cgroup().map(|cgroup| cgroup.is_populated());
            match (self.kind, populated) {
                (Kind::Attached, found) => return found.is_some(),
                (Kind::Made, Some(Ok(true))) => return true,
                _ if begun.elapsed() > START => return false,
                _ => thread::sleep(LOOK),
            }
        }
    }

    fn is_wanted(&self) -> bool {
        let populated =
            |cgroup: Cgroup| self.kind == Kind::Attached || cgroup.is_populated().unwrap_or(false);
        self.record.holds() && self.cgroup().is_some_and(populated)
    }

    fn govern(&mut self, pins: &PinDirectory) -> Result<()> {
        let programs = Programs::load(pins)?;
        let namespaces = Namespaces::new()?;
        let Some(cgroup) = self.cgroup() else {
            return Ok(());
        };
        programs.set_cgroup(&cgroup)?;
        programs.set(&UdpSettings {
            group: self.id,
            ..UdpSettings::default()
        })?;
        let _attached = programs.attach_to_devices()?;
        self.record.tell("governed");
        let mut reviewed = Instant::now();
        loop {
            thread::sleep(LOOK);
            if reviewed.elapsed() >= REVIEW {
                reviewed = Instant::now();
                if !self.is_wanted() {
                    return Ok(());
                }
            }
            let Some((peer, bytes)) = self.busiest(&programs) else {
                continue;
            };
            if bytes < BULK_BYTES {
                continue;
            }
            let rate = bytes * 1_000_000 / LOOK.as_micros() as u64;
            match Path::find(peer, rate, &self.parameters) {
                Ok(Some(mut path)) => {
                    let governed = self.govern_path(&programs, &namespaces, &mut path);
                    if !governed? {
                        return Ok(());
                    }
                    self.looked.clear();
                }
                Ok(None) => self.note_silence(peer, "it answers no ping"),
                Err(error) => self.note_silence(peer, &error.to_string()),
            }
        }
    }

    fn note_silence(&mut self, peer: UdpPeer, why: &str) {
        let known = self.silent.insert(peer, Instant::now()).is_some();
        if !known {
            let text = format!("UDP with {} is not governed: {why}", peer.ip());
            self.record.tell(&text);
            self.say(&text);
        }
    }

    /// Returns the peer that has moved most since the last look, and how much.
    fn busiest(&mut self, programs: &Programs) -> Option<(UdpPeer, u64)> {
        let mut most = None;
        let now = programs.moved();
        for (peer, bytes) in &now {
            let before = self.looked.get(peer);
            let since = before.map_or(0, |before| bytes.saturating_sub(*before));
            let silent = (self.silent.get(peer)).is_some_and(|when| when.elapsed() < SILENCE);
            if !silent && most.is_none_or(|(_, most)| since > most) {
                most = Some((*peer, since));
            }
        }
        self.looked = now;
        most
    }

    /// Governs what passes one device, as the path of one peer shows, until there is nothing any more or another peer moves
    /// more. Returns false if nothing is to be governed any more.
    fn govern_path(
        &mut self,
        programs: &Programs,
        namespaces: &Namespaces,
        path: &mut Path,
    ) -> Result<bool> {
        let mut queues = Vec::new();
        for way in WAYS {
            let name = format!("{QUEUES}{:x}{}", self.id as u32, "o");
            queues.push(programs.queue(namespaces, &name, way)?);
        }
        let mut settings = UdpSettings {
            group: self.id,
            device: path.peer.device,
            link_header: path.device.link_header,
            queues: [0; 2],
        };
        path.set_rates(namespaces, &mut queues)?;
        for (way, queue) in WAYS.iter().zip(&queues) {
            settings.queues[*way as usize] = queue.index;
        }
        programs.set(&settings)?;
        let ended = self.follow(programs, namespaces, path, &mut queues);
        // What waits leaves first.
        programs.set(&UdpSettings {
            queues: [0; 2],
            ..settings
        })?;
        for queue in &mut queues {
            let rate = Rate {
                rate: UNLIMITED,
                burst: u32::MAX >> 8,
                limit: u32::MAX >> 1,
            };
            let _ = namespaces.set(queue, rate);
        }
        thread::sleep(LOOK);
        for queue in queues {
            namespaces.remove(queue);
        }
        ended
    }

    fn follow(
        &mut self,
        programs: &Programs,
        namespaces: &Namespaces,
        path: &mut Path,
        queues: &mut [Queue],
    ) -> Result<bool> {
        let mut trace = trace();
        let mut reviewed = Instant::now();
        let mut held = programs.counts(Way::Out).held;
        let mut moved = Instant::now();
        let mut others = 0;
        self.busiest(programs);
        loop {
            path.step(programs)?;
            path.set_rates(namespaces, queues)?;
            path.trace(&mut trace, programs);
            if path.is_silent() {
                self.note_silence(path.peer, "it answers pings no more");
                return Ok(true);
            }
            if reviewed.elapsed() < REVIEW {
                continue;
            }
            reviewed = Instant::now();
            self.record.tell(&path.in_words());
            let now = programs.counts(Way::Out).held;
            if now != held {
                moved = Instant::now();
            }
            held = now;
            if !self.is_wanted() {
                return Ok(false);
            }
            let before = self.looked.get(&path.peer).copied().unwrap_or_default();
            let busiest = self.busiest(programs);
            let own = self.looked.get(&path.peer).copied().unwrap_or_default() - before;
            others = match busiest {
                Some((_, most)) if most / MAIN_PART > own => others + 1,
                _ => 0,
            };
            if moved.elapsed() > QUIET || others >= OTHER_PEER {
                return Ok(true);
            }
        }
    }
}

/// A device, as a path needs to know it.
struct Device {
    name: String,
    /// Bytes of a packet's header of the link.
    link_header: u32,
    mtu: u32,
}

impl Device {
    fn find(index: u32) -> io::Result<Self> {
        let mut name = [0_u8; libc::IF_NAMESIZE];
        // SAFETY: the name has room for what the call writes.
        if unsafe { libc::if_indextoname(index, name.as_mut_ptr().cast()) }.is_null() {
            return Err(io::Error::last_os_error());
        }
        let length = name.iter().position(|byte| *byte == 0).unwrap_or(0);
        let name = String::from_utf8_lossy(&name[..length]).into_owned();
        let read = |what: &str| -> io::Result<u32> {
            let text =
                std::fs::read_to_string(PathBuf::from("/sys/class/net").join(&name).join(what))?;
            text.trim().parse().map_err(io::Error::other)
        };
        let _ = &read;
        let (kind, mtu) = request_of_device(&name)?;
        Ok(Self {
            link_header: if kind == libc::ARPHRD_ETHER { 14 } else { 0 },
            mtu,
            name,
        })
    }
}

/// Returns the kind of a device's addresses (ARPHRD), and its MTU, in the network namespace of this thread.
fn request_of_device(name: &str) -> io::Result<(u16, u32)> {
    // SAFETY: the call takes numbers only.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    let socket = nix::errno::Errno::result(socket)?;
    // SAFETY: the descriptor is new.
    let socket = unsafe { <OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(socket) };
    let ask = |what: libc::c_ulong| -> io::Result<libc::ifreq> {
        // SAFETY: zeros are a valid request.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        // SAFETY: the request is one of this kind.
        let answer = unsafe { libc::ioctl(socket.as_raw_fd(), what as _, &mut request) };
        nix::errno::Errno::result(answer)?;
        Ok(request)
    };
    // SAFETY: the calls have filled in these members.
    unsafe {
        let kind = ask(libc::SIOCGIFHWADDR)?.ifr_ifru.ifru_hwaddr.sa_family;
        let mtu = ask(libc::SIOCGIFMTU)?.ifr_ifru.ifru_mtu;
        Ok((kind, mtu as u32))
    }
}

/// An echo without a reply.
struct Waiting {
    number: u16,
    echo: [Echo; WAYS.len()],
}

/// The path to the peer that moves most, as echoes measure it.
struct Path {
    peer: UdpPeer,
    device: Device,
    echoes: Echoes,
    begun: Instant,
    aggregates: Vec<Aggregate>,
    waiting: VecDeque<Waiting>,
    number: u16,
    next: Instant,
    answered: Instant,
    timed_out: bool,
}

impl Path {
    /// Asks a peer; returns `None` if it does not answer.
    fn find(peer: UdpPeer, rate: u64, parameters: &Parameters) -> Result<Option<Self>> {
        let asking = || format!("asking {}", peer.ip());
        let device = Device::find(peer.device).doing(asking)?;
        let identity = std::process::id() as u16;
        let echoes = Echoes::open(peer.ip(), &device.name, identity).doing(asking)?;
        let begun = Instant::now();
        // A lost one does not count.
        let tries = 4;
        for number in 0..tries {
            let sent = Instant::now();
            echoes.send(number).doing(asking)?;
            let until = sent + PATIENCE / u32::from(tries);
            while let Some(left) = until.checked_duration_since(Instant::now()) {
                wait_for(&echoes, left);
                if let Some(reply) = echoes.receive().filter(|reply| reply.number == number) {
                    let rtt_us = reply.at.saturating_duration_since(sent).as_micros() as u32;
                    let start =
                        |_| Aggregate::new(parameters, micros(begun, reply.at), rtt_us, 0, rate);
                    return Ok(Some(Self {
                        peer,
                        device,
                        echoes,
                        begun,
                        aggregates: WAYS.iter().map(start).collect(),
                        waiting: VecDeque::new(),
                        number: tries,
                        next: Instant::now(),
                        answered: Instant::now(),
                        timed_out: false,
                    }));
                }
            }
        }
        Ok(None)
    }

    /// Waits for replies until an echo is due, and sends it.
    fn step(&mut self, programs: &Programs) -> Result<()> {
        let now = Instant::now();
        if now >= self.next {
            let now_us = micros(self.begun, now);
            let mut echo = [Echo::default(); WAYS.len()];
            for ((way, aggregate), echo) in WAYS.iter().zip(&mut self.aggregates).zip(&mut echo) {
                *echo = aggregate.on_echo(now_us, programs.counts(*way).passed);
            }
            let number = self.number;
            self.number = self.number.wrapping_add(1);
            // A full queue of the device is one more way to lose it.
            let _ = self.echoes.send(number);
            self.waiting.push_back(Waiting { number, echo });
            self.time_out(now_us, programs);
            let wait = (self.aggregates.iter()).map(Aggregate::echo_us).min();
            let wait = Duration::from_micros(wait.unwrap_or_default().into());
            self.next = (self.next + wait).max(now + wait / 2);
        }
        wait_for(
            &self.echoes,
            self.next.saturating_duration_since(Instant::now()),
        );
        while let Some(reply) = self.echoes.receive() {
            let is_it = |waiting: &Waiting| waiting.number == reply.number;
            let Some(at) = self.waiting.iter().position(is_it) else {
                continue;
            };
            let waiting = self.waiting.drain(..=at).next_back();
            let Some(waiting) = waiting else { continue };
            self.answered = Instant::now();
            self.timed_out = false;
            let now_us = micros(self.begun, reply.at);
            for ((way, aggregate), echo) in WAYS.iter().zip(&mut self.aggregates).zip(&waiting.echo)
            {
                aggregate.on_reply(echo, now_us, programs.counts(*way).passed, at as u32);
            }
            // A rate that rises has nothing to wait for, and while yielding the next probe may be sooner.
            let wait = (self.aggregates.iter()).map(Aggregate::echo_us).min();
            let wait = Duration::from_micros(wait.unwrap_or_default().into());
            self.next = self.next.min(Instant::now() + wait);
        }
        Ok(())
    }

    /// Returns how long no reply may come.
    fn patience(&self) -> Duration {
        let slowest = (self.aggregates.iter())
            .map(|one| one.told().smoothed_rtt_us)
            .max();
        PATIENCE.max(Duration::from_micros(4 * slowest.unwrap_or_default()))
    }

    fn time_out(&mut self, now_us: u32, programs: &Programs) {
        if self.timed_out || self.waiting.len() < 2 || self.answered.elapsed() < self.patience() {
            return;
        }
        self.timed_out = true;
        for (way, aggregate) in WAYS.iter().zip(&mut self.aggregates) {
            aggregate.on_timeout(now_us, programs.counts(*way).passed);
        }
    }

    fn is_silent(&self) -> bool {
        self.timed_out && self.answered.elapsed() > 10 * self.patience()
    }

    /// Has the queues pass what the policies want.
    fn set_rates(&self, namespaces: &Namespaces, queues: &mut [Queue]) -> Result<()> {
        for (aggregate, queue) in self.aggregates.iter().zip(queues) {
            let told = aggregate.told();
            let before = queue.rate();
            if before
                .is_some_and(|before| before.rate.abs_diff(told.rate) * RATE_PARTS <= before.rate)
            {
                continue;
            }
            let known = match told.packet_ns {
                0 => told.rate,
                packet_ns => PACKET_BYTES * 1_000_000_000 / packet_ns,
            };
            let round_us = told.smoothed_rtt_us.max(SHORTEST_ROUND_US);
            let limit =
                (QUEUE_ROUNDS * known.max(told.rate) * round_us / 1_000_000).max(SHORTEST_QUEUE);
            let pair = if told.yields_now {
                PAIR_BYTES / 2
            } else {
                PAIR_BYTES
            };
            let burst = pair
                .max(self.device.mtu + 18)
                .max((told.rate / 1000) as u32);
            let rate = Rate {
                rate: told.rate,
                burst,
                limit: u32::try_from(limit).unwrap_or(u32::MAX),
            };
            namespaces.set(queue, rate)?;
        }
        Ok(())
    }

    fn in_words(&self) -> String {
        let told = self.aggregates[0].told();
        format!(
            "governed by a queue of {:.2} Mb/s at {}, {} {}: round trip {:.1} ms, gave way {} times",
            told.rate as f64 * 8e-6,
            self.device.name,
            if told.yields_now {
                "giving way to others on the path to"
            } else {
                "by the path to"
            },
            self.peer.ip(),
            told.smoothed_rtt_us as f64 / 1e3,
            told.yields,
        )
    }

    fn trace(&self, trace: &mut Option<File>, programs: &Programs) {
        let Some(trace) = trace else { return };
        let told = self.aggregates[0].told();
        let counts = programs.counts(Way::Out);
        let _ = writeln!(
            trace,
            "{:.3} rate {:.3} cwnd {} yields {} {} queue {:.1} thr {:.1} srtt {:.1} link {:.2} held {} passed {}",
            self.begun.elapsed().as_secs_f64(),
            told.rate as f64 * 8e-6,
            told.cwnd,
            told.yields_now,
            told.yields,
            told.queue_us as f64 / 1e3,
            told.threshold_us as f64 / 1e3,
            told.smoothed_rtt_us as f64 / 1e3,
            if told.packet_ns > 0 {
                PACKET_BYTES as f64 * 8e3 / told.packet_ns as f64
            } else {
                0.0
            },
            counts.held,
            counts.passed,
        );
    }
}

fn trace() -> Option<File> {
    File::create(std::env::var_os("NETNICE_UDP_TRACE")?).ok()
}

/// Microseconds since `begun`; they wrap.
fn micros(begun: Instant, at: Instant) -> u32 {
    at.saturating_duration_since(begun).as_micros() as u32
}

fn wait_for(echoes: &Echoes, time: Duration) {
    let mut wait = [PollFd::new(echoes.as_fd(), PollFlags::POLLIN)];
    // Whole milliseconds; the next call waits for the rest.
    let time = time + Duration::from_micros(999);
    let _ = poll(
        &mut wait,
        PollTimeout::try_from(time).unwrap_or(PollTimeout::MAX),
    );
}

/// The programs of `bpf/udp.bpf.c`, loaded for this process alone.
struct Programs(libbpf_rs::Object);

impl Programs {
    fn load(pins: &PinDirectory) -> Result<Self> {
        let object = Object::find("udp").expect("the object is part of this crate");
        // Loading may create a shared map.
        let _loading = pins.while_loading()?;
        object.load(pins).map(Self)
    }

    fn descriptor(&self, name: &str) -> Result<OwnedFd> {
        let program = self.0.progs().find(|program| program.name() == name);
        let program = program.expect("the object has the program");
        program
            .as_fd()
            .try_clone_to_owned()
            .doing(|| format!("opening the program {name}"))
    }

    fn map(&self, name: &str) -> Result<MapHandle> {
        let map = self.0.maps().find(|map| map.name() == name);
        let map = map.expect("the object has the map");
        MapHandle::try_from(&map)
            .map_err(libbpf)
            .doing(|| format!("opening the map {name}"))
    }

    /// Attaches to the devices of this network namespace, for as long as the values are there.
    fn attach_to_devices(&self) -> Result<Vec<OwnedFd>> {
        let attaching = || "attaching to a network interface (tcx)".to_owned();
        let program = self.descriptor("netnice_udp")?;
        let mut links = Vec::new();
        for index in interfaces::indices().doing(attaching)? {
            for place in [BPF_TCX_EGRESS, BPF_TCX_INGRESS] {
                match link::create(program.as_fd(), index as i32, place) {
                    // It may have gone.
                    Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {}
                    other => links.push(other.doing(attaching)?),
                }
            }
        }
        Ok(links)
    }

    fn queue(&self, namespaces: &Namespaces, name: &str, way: Way) -> Result<Queue> {
        let (turn, back) = match way {
            Way::Out => ("netnice_turn_out", "netnice_back_out"),
        };
        let (turn, back) = (self.descriptor(turn)?, self.descriptor(back)?);
        namespaces.queue(name, turn.as_fd(), back.as_fd())
    }

    fn set(&self, settings: &UdpSettings) -> Result<()> {
        self.map("udp_settings")?
            .update(
                &0_u32.to_ne_bytes(),
                bytemuck::bytes_of(settings),
                MapFlags::ANY,
            )
            .map_err(libbpf)
            .doing(|| "setting where packets wait".to_owned())
    }

    fn set_cgroup(&self, cgroup: &Cgroup) -> Result<()> {
        let descriptor = cgroup.as_fd().as_raw_fd() as u32;
        self.map("udp_cgroup")?
            .update(
                &0_u32.to_ne_bytes(),
                &descriptor.to_ne_bytes(),
                MapFlags::ANY,
            )
            .map_err(libbpf)
            .doing(|| format!("setting the cgroup {}", cgroup.path()))
    }

    fn counts(&self, way: Way) -> UdpCounts {
        let read = || -> Option<UdpCounts> {
            let map = self.map("udp_counts").ok()?;
            let bytes = map
                .lookup(&(way as u32).to_ne_bytes(), MapFlags::ANY)
                .ok()??;
            bytemuck::try_pod_read_unaligned(&bytes).ok()
        };
        read().unwrap_or_default()
    }

    /// Returns the bytes of large packets that each peer has moved.
    fn moved(&self) -> HashMap<UdpPeer, u64> {
        let Ok(map) = self.map("udp_peers") else {
            return HashMap::new();
        };
        let read = |key: Vec<u8>| -> Option<(UdpPeer, u64)> {
            let peer = bytemuck::try_pod_read_unaligned(&key).ok()?;
            let bytes = map.lookup(&key, MapFlags::ANY).ok()??;
            let moved: [u64; 2] = bytemuck::try_pod_read_unaligned(&bytes).ok()?;
            Some((peer, moved[Way::Out as usize]))
        };
        map.keys().filter_map(read).collect()
    }
}

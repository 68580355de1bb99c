// SPDX-License-Identifier: MIT OR Apache-2.0
//! The process that governs UDP of one cgroup. It holds all that it needs in the kernel by descriptors alone, so that nothing is left
//! of it however it ends, and what waits in its queues is all that is lost.

use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::thread;
use std::time::{Duration, Instant};

use bytemuck::{Pod, Zeroable};
use libbpf_rs::{Map, MapCore, MapFlags};
use nix::errno::Errno;
use nix::net::if_::if_indextoname;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};

use super::aggregate::{Aggregate, Bytes, Echo};
use super::echo::Echoes;
use super::queue::{Namespaces, Queue, Rate};
use crate::abi::UtpGroup;
use crate::cgroup::hierarchy::{Cgroup, Hierarchy};
use crate::cgroup::interfaces::{self, QUEUES, Way};
use crate::cgroup::link;
use crate::error::{Context, Result, libbpf};
use crate::objects::compiled::Object;
use crate::objects::parameters::Parameters;
use crate::objects::pin_directory::PinDirectory;
use crate::runtime::journal::Kind;
use crate::runtime::keepers::{self, Record};
use crate::runtime::log;
use crate::runtime::pins::Pins;

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

/// `struct udp_settings` of `bpf/udp.bpf.c`.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
struct UdpSettings {
    group: u64,
    device: u32,
    queues: [u32; 2],
    link_header: u32,
}

/// `struct udp_counts`: bytes, with a header of Ethernet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
struct Counts {
    bytes: Bytes,
    /// In bytes per second, when a packet last passed the queue; 0 for none.
    floor: u64,
    /// Bytes that the group's connections have moved; 0 without a floor.
    connections: u64,
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
                packet: PACKET_BYTES as u32,
                limit: SHORTEST_QUEUE as u32,
            };
            let set = namespaces.set(&mut queue, rate);
            namespaces.remove(queue);
            set
        });
        tried.join().expect("trying does not panic")
    })
}

/// Governs as `wanted` until the cgroup is gone, or empty if netnice has made it, or until the record is another's.
pub(super) fn run(
    path: &str,
    id: u64,
    wanted: &UtpGroup,
    kind: Kind,
    record: Record,
    stderr: Option<File>,
) {
    let Ok(pins) = Pins::open() else { return };
    // The cgroup in which this process was started may be governed, or end with a session.
    if let Ok(root) = Hierarchy::find().and_then(|all| all.open("/")) {
        let _ = root.enter(std::process::id() as i32);
    }
    let ways = [(Way::Out, wanted.sends), (Way::In, wanted.receives)];
    let ways = ways.into_iter().filter(|(_, wanted)| *wanted != 0);
    let mut keeper = Keeper {
        path: path.to_owned(),
        id,
        kind,
        record,
        stderr,
        parameters: wanted.parameters,
        ways: ways.map(|(way, _)| way).collect(),
        silent: HashMap::new(),
        looked: HashMap::new(),
    };
    if keeper.wait_for_begin() {
        if let Err(error) = keeper.govern(&pins) {
            keeper.record.tell(&format!("not governed: {error}"));
        }
    }
    // Whoever has removed the cgroup may have done so before the record was made.
    if keeper.cgroup().is_none() {
        keepers::forget(pins.home(), id);
    }
    let _ = pins.close();
}

struct Keeper {
    path: String,
    id: u64,
    kind: Kind,
    record: Record,
    /// Where it was asked for in so many words.
    stderr: Option<File>,
    parameters: Parameters,
    ways: Vec<Way>,
    /// Peers that do not answer, and since when.
    silent: HashMap<UdpPeer, Instant>,
    /// What peers had moved at the last look, in bytes.
    looked: HashMap<UdpPeer, u64>,
}

impl Keeper {
    fn say(&mut self, text: &str) {
        if let Some(stderr) = &mut self.stderr {
            // Nobody may read it any more.
            let _ = writeln!(stderr, "netnice: {text}");
            log::warn(&format!("of the commands in {}: {text}", self.path));
        }
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
                (Kind::Made, None) => return false,
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
            match Path::find(peer, &self.ways, rate, &self.parameters, &programs) {
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
        for one in &path.ways {
            let letter = if one.way == Way::Out { "o" } else { "i" };
            let name = format!("{QUEUES}{:x}{letter}", self.id as u32);
            queues.push(programs.queue(namespaces, &name, one.way)?);
        }
        let mut settings = UdpSettings {
            group: self.id,
            device: path.peer.device,
            link_header: path.device.link_header,
            queues: [0; 2],
        };
        path.set_rates(namespaces, &mut queues)?;
        for (one, queue) in path.ways.iter().zip(&queues) {
            settings.queues[one.way as usize] = queue.index;
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
                packet: path.device.packet(),
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
        let mut reviewed = Instant::now();
        let mut moved = Instant::now();
        let mut others = 0;
        self.busiest(programs);
        loop {
            path.step(programs);
            path.set_rates(namespaces, queues)?;
            if path.is_silent() {
                self.note_silence(path.peer, "it answers pings no more");
                return Ok(true);
            }
            if reviewed.elapsed() < REVIEW {
                continue;
            }
            let since = reviewed.elapsed();
            reviewed = Instant::now();
            self.record.tell(&path.in_words());
            if path.review(programs, since) {
                moved = Instant::now();
            }
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
    /// Returns the size of the largest packet, with a header of Ethernet and a tag of a VLAN.
    fn packet(&self) -> u32 {
        self.mtu + 18
    }

    fn find(index: u32) -> io::Result<Self> {
        let name = if_indextoname(index)?.to_string_lossy().into_owned();
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
    let socket = socket(
        AddressFamily::Inet,
        SockType::Datagram,
        SockFlag::SOCK_CLOEXEC,
        None,
    )?;
    let ask = |what: libc::c_ulong| -> io::Result<libc::ifreq> {
        // SAFETY: zeros are a valid request.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
            *to = from as libc::c_char;
        }
        // SAFETY: the request is one of this kind.
        let answer = unsafe { libc::ioctl(socket.as_raw_fd(), what as _, &mut request) };
        Errno::result(answer)?;
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
    /// For each way that it measures.
    echoes: Vec<Option<Echo>>,
}

/// One way of the packets on a path.
struct OneWay {
    way: Way,
    aggregate: Aggregate,
    /// It has moved something of late: only then replies are for it.
    moves: bool,
    /// At the last review.
    counts: Counts,
    /// Its part of the group's floor, in bytes per second.
    floor: u64,
    /// When an echo has to leave.
    next: Instant,
}

/// The path to the peer that moves most, as echoes measure it.
struct Path {
    peer: UdpPeer,
    device: Device,
    echoes: Echoes,
    begun: Instant,
    ways: Vec<OneWay>,
    waiting: VecDeque<Waiting>,
    number: u16,
    answered: Instant,
    timed_out: bool,
}

impl Path {
    /// Asks a peer; returns `None` if it does not answer.
    fn find(
        peer: UdpPeer,
        ways: &[Way],
        rate: u64,
        parameters: &Parameters,
        programs: &Programs,
    ) -> Result<Option<Self>> {
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
                let Some(reply) = echoes.receive().filter(|reply| reply.number == number) else {
                    continue;
                };
                let now_us = micros(begun, reply.at);
                let rtt_us = reply.at.saturating_duration_since(sent).as_micros() as u32;
                let start = |way: &Way| {
                    let (way, counts) = (*way, programs.counts(*way));
                    let (arrives, bytes) = (way == Way::In, counts.bytes);
                    OneWay {
                        way,
                        aggregate: Aggregate::new(
                            parameters, arrives, now_us, rtt_us, &bytes, rate,
                        ),
                        moves: true,
                        counts,
                        floor: 0,
                        next: Instant::now(),
                    }
                };
                return Ok(Some(Self {
                    peer,
                    device,
                    echoes,
                    begun,
                    ways: ways.iter().map(start).collect(),
                    waiting: VecDeque::new(),
                    number: tries,
                    answered: Instant::now(),
                    timed_out: false,
                }));
            }
        }
        Ok(None)
    }

    /// Notes which ways move something, and their parts of the floor, some time after it did so before; returns whether one moves.
    fn review(&mut self, programs: &Programs, time: Duration) -> bool {
        for one in &mut self.ways {
            let counts = programs.counts(one.way);
            let connections = counts.connections.saturating_sub(one.counts.connections);
            let connections = (connections as f64 / time.as_secs_f64()) as u64;
            one.moves = counts.bytes != one.counts.bytes;
            one.floor = match counts.floor {
                0 => 0,
                // The group's connections leave to UDP what it has moved of late, too: both go half of the way.
                floor => (one.floor + floor.saturating_sub(connections)) / 2,
            };
            one.counts = counts;
        }
        self.ways.iter().any(|one| one.moves)
    }

    /// Returns when the next echo is due. Where nothing moves there is nothing to measure.
    fn next(&self) -> Instant {
        let moving = self.ways.iter().filter(|one| one.moves);
        let idle = self.answered + REVIEW;
        moving.map(|one| one.next).min().unwrap_or(idle)
    }

    /// Waits for replies until an echo is due, and sends it.
    fn step(&mut self, programs: &Programs) {
        let now = Instant::now();
        if now >= self.next() {
            self.send(now, programs);
        }
        let wait = self.next().saturating_duration_since(Instant::now());
        wait_for(&self.echoes, wait.min(REVIEW));
        while let Some(reply) = self.echoes.receive() {
            let is_it = |waiting: &Waiting| waiting.number == reply.number;
            let Some(at) = self.waiting.iter().position(is_it) else {
                continue;
            };
            let Some(waiting) = self.waiting.drain(..=at).next_back() else {
                continue;
            };
            self.answered = Instant::now();
            self.timed_out = false;
            let now_us = micros(self.begun, reply.at);
            for (one, echo) in self.ways.iter_mut().zip(&waiting.echoes) {
                let Some(echo) = echo else { continue };
                let bytes = programs.counts(one.way).bytes;
                let read_us = micros(self.begun, Instant::now());
                (one.aggregate).on_reply(echo, now_us, read_us, &bytes, at as u32);
                // While yielding the next probe may be due sooner now.
                one.next = one.next.min(Instant::now() + one.echo_interval());
            }
        }
    }

    fn send(&mut self, now: Instant, programs: &Programs) {
        let now_us = micros(self.begun, now);
        let mut echoes = Vec::with_capacity(self.ways.len());
        for one in &mut self.ways {
            // Each one for a way that yields is one of its probes: it must not come early.
            let due = one.moves && now >= one.next;
            echoes.push(due.then(|| {
                let bytes = programs.counts(one.way).bytes;
                let echo = one.aggregate.on_echo(now_us, &bytes);
                let wait = one.echo_interval();
                one.next = (one.next + wait).max(now + wait / 2);
                echo
            }));
        }
        if echoes.iter().all(Option::is_none) {
            self.answered = now;
            self.waiting.clear();
            return;
        }
        let number = self.number;
        self.number = self.number.wrapping_add(1);
        // A full queue of the device is one more way to lose it.
        let _ = self.echoes.send(number);
        self.waiting.push_back(Waiting { number, echoes });
        if !self.timed_out && self.waiting.len() > 1 && self.answered.elapsed() > self.patience() {
            self.timed_out = true;
            for one in &mut self.ways {
                one.aggregate.on_timeout(now_us);
            }
        }
    }

    /// Returns how long no reply may come.
    fn patience(&self) -> Duration {
        let smoothed = |one: &OneWay| one.aggregate.told().smoothed_rtt_us;
        let slowest = self.ways.iter().map(smoothed).max();
        PATIENCE.max(Duration::from_micros(4 * slowest.unwrap_or_default()))
    }

    fn is_silent(&self) -> bool {
        self.timed_out && self.answered.elapsed() > 10 * self.patience()
    }

    /// Has the queues pass what the policies want.
    fn set_rates(&self, namespaces: &Namespaces, queues: &mut [Queue]) -> Result<()> {
        for (one, queue) in self.ways.iter().zip(queues) {
            let (told, wanted) = (one.aggregate.told(), one.rate());
            let before = queue.rate();
            if before.is_some_and(|before| before.rate.abs_diff(wanted) * RATE_PARTS <= before.rate)
            {
                continue;
            }
            let known = match told.packet_ns {
                0 => wanted,
                packet_ns => PACKET_BYTES * 1_000_000_000 / packet_ns,
            };
            let round_us = told.smoothed_rtt_us.max(SHORTEST_ROUND_US);
            let limit =
                (QUEUE_ROUNDS * known.max(wanted) * round_us / 1_000_000).max(SHORTEST_QUEUE);
            let pair = if told.yields_now && wanted == told.rate {
                PAIR_BYTES / 2
            } else {
                PAIR_BYTES
            };
            let burst = pair.max(self.device.packet()).max((wanted / 1000) as u32);
            let rate = Rate {
                rate: wanted,
                burst,
                packet: self.device.packet(),
                limit: u32::try_from(limit).unwrap_or(u32::MAX),
            };
            namespaces.set(queue, rate)?;
        }
        Ok(())
    }

    fn in_words(&self) -> String {
        let words: Vec<String> = self.ways.iter().map(OneWay::in_words).collect();
        let smoothed = |one: &OneWay| one.aggregate.told().smoothed_rtt_us;
        let rtt_us = self.ways.iter().map(smoothed).min();
        format!(
            "governed at {} by the path to {}, round trip {:.1} ms: {}",
            self.device.name,
            self.peer.ip(),
            rtt_us.unwrap_or_default() as f64 / 1e3,
            words.join(", "),
        )
    }
}

impl OneWay {
    /// Returns the rate that its queue is to have, in bytes per second: what the policy wants, and no less than its part of the floor.
    fn rate(&self) -> u64 {
        self.aggregate.told().rate.max(self.floor)
    }

    fn echo_interval(&self) -> Duration {
        Duration::from_micros(self.aggregate.echo_us().into())
    }

    fn in_words(&self) -> String {
        let told = self.aggregate.told();
        format!(
            "{} at {:.2} Mb/s, gave way {} times",
            match self.way {
                Way::Out => "sends",
                Way::In => "receives",
            },
            self.rate() as f64 * 8e-6,
            told.yields,
        )
    }
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

    fn map(&self, name: &str) -> Map<'_> {
        let map = self.0.maps().find(|map| map.name() == name);
        map.expect("the object has the map")
    }

    /// Attaches to the devices of this network namespace, for as long as the values are there.
    fn attach_to_devices(&self) -> Result<Vec<OwnedFd>> {
        let attaching = || "attaching to a network interface (tcx)".to_owned();
        let program = self.descriptor("netnice_udp")?;
        let mut links = Vec::new();
        for index in interfaces::indices().doing(attaching)? {
            for way in [Way::Out, Way::In] {
                match link::create(program.as_fd(), index as i32, way.place()) {
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
            Way::In => ("netnice_turn_in", "netnice_back_in"),
        };
        let (turn, back) = (self.descriptor(turn)?, self.descriptor(back)?);
        namespaces.queue(name, turn.as_fd(), back.as_fd())
    }

    fn set(&self, settings: &UdpSettings) -> Result<()> {
        self.map("udp_settings")
            .update(
                &0_u32.to_ne_bytes(),
                bytemuck::bytes_of(settings),
                MapFlags::ANY,
            )
            .map_err(libbpf)
            .doing(|| "setting where packets wait".to_owned())
    }

    fn counts(&self, way: Way) -> Counts {
        let read = || -> Option<Counts> {
            let key = (way as u32).to_ne_bytes();
            let bytes = self.map("udp_counts").lookup(&key, MapFlags::ANY).ok()??;
            bytemuck::try_pod_read_unaligned(&bytes).ok()
        };
        read().unwrap_or_default()
    }

    /// Returns the bytes of large packets that each peer has moved.
    fn moved(&self) -> HashMap<UdpPeer, u64> {
        let map = self.map("udp_peers");
        let read = |key: Vec<u8>| -> Option<(UdpPeer, u64)> {
            let peer = bytemuck::try_pod_read_unaligned(&key).ok()?;
            let bytes = map.lookup(&key, MapFlags::ANY).ok()??;
            let moved: [u64; 2] = bytemuck::try_pod_read_unaligned(&bytes).ok()?;
            Some((peer, moved[0].max(moved[1])))
        };
        map.keys().filter_map(read).collect()
    }
}

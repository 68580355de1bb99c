// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queues of our own: a veth with a token bucket (`tbf`), whose peer is in a network namespace that only this process holds.
//! Queues, peers and namespace go with the process, however it ends.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use libbpf_rs::libbpf_sys::BPF_TCX_INGRESS;
use netlink_packet_core::{
    DefaultNla, NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::RouteNetlinkMessage;
use netlink_packet_route::link::{
    AfSpecInet6, AfSpecUnspec, In6AddrGenMode, InfoData, InfoKind, InfoVeth, LinkAttribute,
    LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::tc::{TcAttribute, TcHandle, TcMessage, TcOption};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};
use nix::net::if_::if_nametoindex;
use nix::sched::{CloneFlags, setns, unshare};

use crate::cgroup::link;
use crate::error::{Context, Result};

/// The largest that a veth may have: a packet is never too large for the queue.
const MTU: u32 = 65535;
/// Attributes of `tbf`, and the link layer of its rates (linux/pkt_sched.h).
const TCA_TBF_PARMS: u16 = 1;
const TCA_TBF_BURST: u16 = 6;
const TCA_TBF_PBURST: u16 = 7;
const TC_LINKLAYER_ETHERNET: u8 = 1;

/// The network namespaces of the device and of the peers.
pub(super) struct Namespaces {
    device: File,
    device_netlink: Netlink,
    peers: File,
    peers_netlink: Netlink,
}

/// A queue, of packets that leave or of those that arrive.
pub(super) struct Queue {
    /// Index of the veth at the device.
    pub(super) index: u32,
    set: Option<Rate>,
    _programs: [OwnedFd; 2],
}

/// How a queue lets packets pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rate {
    /// Bytes per second.
    pub(super) rate: u64,
    /// Bytes that may pass at once.
    pub(super) burst: u32,
    /// Bytes of the largest packet. What several of them make (GSO) is taken apart before it waits: in a bucket that has become
    /// smaller than it, it would wait for ever.
    pub(super) packet: u32,
    /// Bytes that wait at most.
    pub(super) limit: u32,
}

impl Namespaces {
    /// Makes a namespace for the peers; the calling thread stays in its own.
    pub(super) fn new() -> Result<Self> {
        let making = || "making a network namespace".to_owned();
        let open = || File::open("/proc/thread-self/ns/net").doing(making);
        let device = open()?;
        let device_netlink = Netlink::open().doing(making)?;
        unshare(CloneFlags::CLONE_NEWNET).doing(making)?;
        let peers = open();
        let peers_netlink = Netlink::open().doing(making);
        setns(&device, CloneFlags::CLONE_NEWNET).doing(making)?;
        Ok(Self {
            device,
            device_netlink,
            peers: peers?,
            peers_netlink: peers_netlink?,
        })
    }

    /// Runs `work` in the namespace of the peers.
    fn among_peers<T>(&self, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        setns(&self.peers, CloneFlags::CLONE_NEWNET)?;
        let result = work();
        setns(&self.device, CloneFlags::CLONE_NEWNET)?;
        result
    }

    /// Makes a queue called `name`, with a program at its peer and one behind it.
    pub(super) fn queue(
        &self,
        name: &str,
        turn: BorrowedFd<'_>,
        back: BorrowedFd<'_>,
    ) -> Result<Queue> {
        let making = || format!("making the queue {name} (veth)");
        self.device_netlink
            .add_pair(name, self.peers.as_fd())
            .doing(making)?;
        let index = if_nametoindex(name).doing(making)?;
        let peer = self.among_peers(|| Ok(if_nametoindex(name)?));
        let peer = peer.doing(making)?;
        self.device_netlink.bring_up(index).doing(making)?;
        self.peers_netlink.bring_up(peer).doing(making)?;
        let attach = |program, index: u32| link::create(program, index as i32, BPF_TCX_INGRESS);
        let turn = self.among_peers(|| attach(turn, peer)).doing(making)?;
        let back = attach(back, index).doing(making)?;
        Ok(Queue {
            index,
            set: None,
            _programs: [turn, back],
        })
    }

    /// Sets how packets pass.
    pub(super) fn set(&self, queue: &mut Queue, rate: Rate) -> Result<()> {
        if queue.set != Some(rate) {
            self.device_netlink
                .set_bucket(queue.index, rate)
                .doing(|| "setting the rate of a queue (tbf)".to_owned())?;
            queue.set = Some(rate);
        }
        Ok(())
    }

    /// Removes a queue with all that waits in it.
    pub(super) fn remove(&self, queue: Queue) {
        // Else it goes with this process.
        let _ = self.device_netlink.remove(queue.index);
    }
}

impl Queue {
    /// Returns how packets pass, if that was set.
    pub(super) fn rate(&self) -> Option<Rate> {
        self.set
    }
}

/// A connection to rtnetlink in the namespace in which it was opened.
struct Netlink(Socket);

impl Netlink {
    fn open() -> io::Result<Self> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Self(socket))
    }

    fn request(&self, message: RouteNetlinkMessage, flags: u16) -> io::Result<()> {
        let mut packet =
            NetlinkMessage::new(NetlinkHeader::default(), NetlinkPayload::from(message));
        packet.header.flags = NLM_F_REQUEST | NLM_F_ACK | flags;
        packet.finalize();
        let mut bytes = vec![0; packet.buffer_len()];
        packet.serialize(&mut bytes);
        self.0.send(&bytes, 0)?;
        let (answer, _) = self.0.recv_from_full()?;
        let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
        match answer.payload {
            NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
            _ => Ok(()),
        }
    }

    /// Makes a pair of veths with the same name, the peer in another namespace.
    fn add_pair(&self, name: &str, peers: BorrowedFd<'_>) -> io::Result<()> {
        let named = || {
            vec![
                LinkAttribute::IfName(name.to_owned()),
                LinkAttribute::Mtu(MTU),
            ]
        };
        let mut peer = LinkMessage::default();
        peer.attributes = named();
        peer.attributes
            .push(LinkAttribute::NetNsFd(peers.as_raw_fd()));
        let mut pair = LinkMessage::default();
        pair.attributes = named();
        pair.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
        ]));
        self.request(
            RouteNetlinkMessage::NewLink(pair),
            NLM_F_CREATE | NLM_F_EXCL,
        )
    }

    fn bring_up(&self, index: u32) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = index;
        let mode = AfSpecInet6::AddrGenMode(In6AddrGenMode::None);
        link.attributes = vec![LinkAttribute::AfSpecUnspec(vec![AfSpecUnspec::Inet6(
            vec![mode],
        )])];
        // So that it has no address, and says nothing by itself. A kernel may have no IPv6.
        let _ = self.request(RouteNetlinkMessage::SetLink(link.clone()), 0);
        link.attributes.clear();
        link.header.flags = LinkFlags::Up;
        link.header.change_mask = LinkFlags::Up;
        self.request(RouteNetlinkMessage::SetLink(link), 0)
    }

    fn remove(&self, index: u32) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = index;
        self.request(RouteNetlinkMessage::DelLink(link), 0)
    }

    fn set_bucket(&self, index: u32, rate: Rate) -> io::Result<()> {
        let mut message = TcMessage::default();
        message.header.index = index as i32;
        message.header.handle = TcHandle::from(1 << 16);
        message.header.parent = TcHandle::ROOT;
        let options = [
            (TCA_TBF_PARMS, parameters_of_bucket(rate)),
            (TCA_TBF_BURST, rate.burst.to_ne_bytes().to_vec()),
            (TCA_TBF_PBURST, rate.packet.to_ne_bytes().to_vec()),
        ];
        let options = options.map(|(kind, value)| TcOption::Other(DefaultNla::new(kind, value)));
        message.attributes = vec![
            TcAttribute::Kind("tbf".to_owned()),
            TcAttribute::Options(options.to_vec()),
        ];
        self.request(
            RouteNetlinkMessage::NewQueueDiscipline(message),
            NLM_F_CREATE,
        )
    }
}

/// `struct tc_tbf_qopt` of linux/pkt_sched.h.
fn parameters_of_bucket(rate: Rate) -> Vec<u8> {
    let bytes_per_s = u32::try_from(rate.rate).unwrap_or(u32::MAX - 1);
    let mut bytes = Vec::with_capacity(36);
    // A tc_ratespec each: cell_log, linklayer, overhead, cell_align, mpu, rate. The peak rate limits nothing but the size of a packet.
    for bytes_per_s in [bytes_per_s, u32::MAX] {
        bytes.extend([0, TC_LINKLAYER_ETHERNET, 0, 0, 0, 0, 0, 0]);
        bytes.extend(bytes_per_s.to_ne_bytes());
    }
    bytes.extend(rate.limit.to_ne_bytes());
    // The bursts as times: TCA_TBF_BURST and TCA_TBF_PBURST stand for them.
    bytes.extend([0; 8]);
    bytes
}

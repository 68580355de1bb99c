// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rtnetlink requests for setting up a link. They act on the namespace of the calling thread.

use std::io;
use std::net::{IpAddr, Ipv4Addr};

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_EXCL, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressHeaderFlags, AddressMessage};
use netlink_packet_route::link::{LinkAttribute, LinkFlags, LinkMessage, Stats64};
pub use netlink_packet_route::route::RouteMetric;
use netlink_packet_route::route::{
    RouteAttribute, RouteHeader, RouteMessage, RouteProtocol, RouteScope, RouteType,
};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::protocols::NETLINK_ROUTE;
use netlink_sys::{Socket, SocketAddr};

/// A connection to rtnetlink in the namespace of the thread that opened it.
pub struct Netlink {
    socket: Socket,
}

impl Netlink {
    /// Opens a socket to rtnetlink in the calling thread's namespace.
    pub fn open() -> io::Result<Netlink> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Netlink { socket })
    }

    /// Sends a request and returns the first answer that is not an acknowledgement, if any.
    fn request(
        &self,
        message: RouteNetlinkMessage,
        flags: u16,
    ) -> io::Result<Option<RouteNetlinkMessage>> {
        let mut packet =
            NetlinkMessage::new(NetlinkHeader::default(), NetlinkPayload::from(message));
        packet.header.flags = NLM_F_REQUEST | flags;
        packet.finalize();
        let mut bytes = vec![0; packet.buffer_len()];
        packet.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        let (answer, _) = self.socket.recv_from_full()?;
        let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(&answer)
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
        match answer.payload {
            NetlinkPayload::Error(error) if error.code.is_some() => Err(error.to_io()),
            NetlinkPayload::InnerMessage(message) => Ok(Some(message)),
            _ => Ok(None),
        }
    }

    /// Sets MTU (bytes) and transmit queue length (packets) where given, and brings the device up.
    pub fn bring_up(&self, index: u32, sizes: Option<(u32, u32)>) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = index;
        link.header.flags = LinkFlags::Up;
        link.header.change_mask = LinkFlags::Up;
        if let Some((mtu, queue_length)) = sizes {
            link.attributes = vec![
                LinkAttribute::Mtu(mtu),
                LinkAttribute::TxQueueLen(queue_length),
            ];
        }
        self.request(RouteNetlinkMessage::SetLink(link), NLM_F_ACK)
            .map(drop)
    }

    /// Adds an address to the device. IPv6 addresses are usable at once: no other host is on the link, so duplicate
    /// address detection is off.
    pub fn add_address(&self, index: u32, address: IpAddr, prefix_length: u8) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.family = family(address);
        message.header.prefix_len = prefix_length;
        message.header.flags = AddressHeaderFlags::Nodad;
        message.header.index = index;
        message.attributes = vec![
            AddressAttribute::Local(address),
            AddressAttribute::Address(address),
        ];
        self.request(
            RouteNetlinkMessage::NewAddress(message),
            NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL,
        )
        .map(drop)
    }

    /// Routes a prefix through the device `index`; without an index, makes the prefix unreachable.
    pub fn add_route(
        &self,
        prefix: IpAddr,
        prefix_length: u8,
        index: Option<u32>,
    ) -> io::Result<()> {
        let mut message = RouteMessage::default();
        message.header.address_family = family(prefix);
        message.header.destination_prefix_length = prefix_length;
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.protocol = RouteProtocol::Boot;
        message.header.scope = if index.is_some() {
            RouteScope::Link
        } else {
            RouteScope::Universe
        };
        message.header.kind = if index.is_some() {
            RouteType::Unicast
        } else {
            RouteType::Unreachable
        };
        if prefix_length > 0 {
            message
                .attributes
                .push(RouteAttribute::Destination(prefix.into()));
        }
        if let Some(index) = index {
            message.attributes.push(RouteAttribute::Oif(index));
        }
        self.request(
            RouteNetlinkMessage::NewRoute(message),
            NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL,
        )
        .map(drop)
    }

    /// Routes one address through the device `index`, with `source` as the preferred source address and these metrics.
    pub fn add_host_route(
        &self,
        to: Ipv4Addr,
        index: u32,
        source: Ipv4Addr,
        metrics: Vec<RouteMetric>,
    ) -> io::Result<()> {
        let mut message = RouteMessage::default();
        message.header.address_family = AddressFamily::Inet;
        message.header.destination_prefix_length = 32;
        message.header.table = RouteHeader::RT_TABLE_MAIN;
        message.header.protocol = RouteProtocol::Boot;
        message.header.scope = RouteScope::Link;
        message.header.kind = RouteType::Unicast;
        message.attributes = vec![
            RouteAttribute::Destination(to.into()),
            RouteAttribute::Oif(index),
            RouteAttribute::PrefSource(source.into()),
            RouteAttribute::Metrics(metrics),
        ];
        self.request(
            RouteNetlinkMessage::NewRoute(message),
            NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL,
        )
        .map(drop)
    }

    /// Returns the device's counters.
    pub fn statistics(&self, index: u32) -> io::Result<Stats64> {
        let mut link = LinkMessage::default();
        link.header.index = index;
        let answer = self.request(RouteNetlinkMessage::GetLink(link), 0)?;
        let Some(RouteNetlinkMessage::NewLink(link)) = answer else {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "rtnetlink did not answer with a link",
            ));
        };
        link.attributes
            .iter()
            .find_map(|attribute| match attribute {
                LinkAttribute::Stats64(stats) => Some(*stats),
                _ => None,
            })
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the link has no counters"))
    }
}

fn family(address: IpAddr) -> AddressFamily {
    match address {
        IpAddr::V4(_) => AddressFamily::Inet,
        IpAddr::V6(_) => AddressFamily::Inet6,
    }
}

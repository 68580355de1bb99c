// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP sockets of one network namespace, dumped by `sock_diag` (man 7 sock_diag) together with the
//! values that BPF maps of socket storage hold for each.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

use bytemuck::Zeroable;
use netlink_packet_core::{
    DecodeError, DefaultNla, Emitable, NLA_F_NESTED, NLM_F_DUMP, NLM_F_REQUEST,
    NetlinkDeserializable, NetlinkHeader, NetlinkMessage, NetlinkPayload, NetlinkSerializable,
    NlasIterator, parse_string,
};
use netlink_sys::protocols::NETLINK_SOCK_DIAG;
use netlink_sys::{Socket, SocketAddr};

use super::inet_diag::{
    INET_DIAG_CGROUP_ID, INET_DIAG_CONG, INET_DIAG_INFO, INET_DIAG_REQ_SK_BPF_STORAGES,
    INET_DIAG_SK_BPF_STORAGES, InetMessage, InetRequest, SK_DIAG_BPF_STORAGE,
    SK_DIAG_BPF_STORAGE_MAP_ID, SK_DIAG_BPF_STORAGE_MAP_VALUE, SK_DIAG_BPF_STORAGE_REQ_MAP_FD,
    SOCK_DIAG_BY_FAMILY, TCP_CLOSE_WAIT, TCP_CLOSING, TCP_ESTABLISHED, TCP_FIN_WAIT1,
    TCP_FIN_WAIT2, TCP_LAST_ACK, TcpInfo,
};
use crate::abi::read_record;

/// The states of sockets whose congestion control is active.
const CONNECTED: [u8; 6] = [
    TCP_ESTABLISHED,
    TCP_FIN_WAIT1,
    TCP_FIN_WAIT2,
    TCP_CLOSE_WAIT,
    TCP_LAST_ACK,
    TCP_CLOSING,
];

/// One TCP socket that is or was connected.
#[derive(Debug)]
pub(super) struct TcpSocket {
    pub(super) header: InetMessage,
    /// Name of its congestion control.
    pub(super) control: String,
    pub(super) info: TcpInfo,
    /// Id of the cgroup in which it was made; 0 where the kernel does not say.
    pub(super) cgroup: u64,
    /// Values that the given maps have for the socket, by the maps' ids.
    pub(super) storage: Vec<(u32, Vec<u8>)>,
}

/// An `inet_diag_req_v2` with the attributes that follow it.
struct Request {
    sockets: InetRequest,
    attributes: Vec<DefaultNla>,
}

impl NetlinkSerializable for Request {
    fn message_type(&self) -> u16 {
        SOCK_DIAG_BY_FAMILY
    }

    fn buffer_len(&self) -> usize {
        size_of_val(&self.sockets) + self.attributes.as_slice().buffer_len()
    }

    fn serialize(&self, buffer: &mut [u8]) {
        let (sockets, attributes) = buffer.split_at_mut(size_of_val(&self.sockets));
        sockets.copy_from_slice(bytemuck::bytes_of(&self.sockets));
        self.attributes.as_slice().emit(attributes);
    }
}

/// An `inet_diag_msg`, and the attributes that follow it.
struct Response {
    header: InetMessage,
    attributes: Vec<u8>,
}

impl NetlinkDeserializable for Response {
    type Error = DecodeError;

    fn deserialize(_: &NetlinkHeader, payload: &[u8]) -> Result<Self, DecodeError> {
        let needed = size_of::<InetMessage>();
        let header = read_record(payload)
            .ok_or_else(|| DecodeError::buffer_too_small(payload.len(), needed))?;
        Ok(Self {
            header,
            attributes: payload[needed..].to_vec(),
        })
    }
}

/// Dumps the connected TCP sockets of the calling thread's network namespace. With `maps` of socket storage, the
/// kernel requires CAP_BPF and returns EPERM without it.
pub(super) fn tcp_sockets(maps: &[BorrowedFd<'_>]) -> io::Result<Vec<TcpSocket>> {
    let mut socket = Socket::new(NETLINK_SOCK_DIAG)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let mut found = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        let request = Request {
            sockets: InetRequest {
                family: family as u8,
                protocol: libc::IPPROTO_TCP as u8,
                extensions: 1 << (INET_DIAG_INFO - 1) | 1 << (INET_DIAG_CONG - 1),
                states: CONNECTED
                    .iter()
                    .fold(0, |states, state| states | 1 << state),
                ..InetRequest::zeroed()
            },
            attributes: storage_request(maps).into_iter().collect(),
        };
        dump(&socket, request, &mut found)?;
    }
    Ok(found)
}

/// Requests the values that maps hold; `None` without maps, as the kernel would return those of all maps.
fn storage_request(maps: &[BorrowedFd<'_>]) -> Option<DefaultNla> {
    if maps.is_empty() {
        return None;
    }
    let wanted = maps.iter().map(|map| {
        let descriptor = map.as_raw_fd().to_ne_bytes().to_vec();
        DefaultNla::new(SK_DIAG_BPF_STORAGE_REQ_MAP_FD, descriptor)
    });
    let wanted: Vec<DefaultNla> = wanted.collect();
    let mut value = vec![0; wanted.as_slice().buffer_len()];
    wanted.as_slice().emit(&mut value);
    let kind = INET_DIAG_REQ_SK_BPF_STORAGES | NLA_F_NESTED;
    Some(DefaultNla::new(kind, value))
}

fn dump(socket: &Socket, request: Request, found: &mut Vec<TcpSocket>) -> io::Result<()> {
    let mut message = NetlinkMessage::new(
        NetlinkHeader::default(),
        NetlinkPayload::InnerMessage(request),
    );
    message.header.flags = NLM_F_REQUEST | NLM_F_DUMP;
    message.finalize();
    let mut bytes = vec![0; message.buffer_len()];
    message.serialize(&mut bytes);
    socket.send(&bytes, 0)?;
    loop {
        let (answer, _) = match socket.recv_from_full() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            other => other?,
        };
        let mut rest = &answer[..];
        while !rest.is_empty() {
            let message = NetlinkMessage::<Response>::deserialize(rest).map_err(invalid)?;
            match message.payload {
                NetlinkPayload::Error(error) => return Err(error.to_io()),
                NetlinkPayload::Done(done) if done.code < 0 => {
                    return Err(io::Error::from_raw_os_error(-done.code));
                }
                NetlinkPayload::Done(_) => return Ok(()),
                NetlinkPayload::InnerMessage(response) => found.extend(tcp_socket(response)?),
                _ => {}
            }
            // Messages are aligned to four bytes (NLMSG_ALIGNTO).
            let length = (message.header.length as usize).next_multiple_of(4);
            rest = rest.get(length.max(4)..).unwrap_or_default();
        }
    }
}

/// Parses a socket; `None` without `tcp_info`, as in TIME-WAIT.
fn tcp_socket(response: Response) -> io::Result<Option<TcpSocket>> {
    let (mut control, mut info, mut cgroup, mut storage) = (None, None, 0, Vec::new());
    for attribute in NlasIterator::new(&response.attributes) {
        let attribute = attribute.map_err(invalid)?;
        let value = attribute.value();
        match attribute.kind() {
            INET_DIAG_CONG => control = Some(parse_string(value).map_err(invalid)?),
            INET_DIAG_INFO => info = read_record(value),
            INET_DIAG_SK_BPF_STORAGES => storage = storage_values(value)?,
            INET_DIAG_CGROUP_ID => cgroup = read_record(value).unwrap_or_default(),
            _ => {}
        }
    }
    Ok(control.zip(info).map(|(control, info)| TcpSocket {
        header: response.header,
        control,
        info,
        cgroup,
        storage,
    }))
}

/// Returns the ids and values in all `SK_DIAG_BPF_STORAGE`.
fn storage_values(storages: &[u8]) -> io::Result<Vec<(u32, Vec<u8>)>> {
    let mut values = Vec::new();
    for storage in attributes(storages, SK_DIAG_BPF_STORAGE)? {
        let mut ids = attributes(&storage, SK_DIAG_BPF_STORAGE_MAP_ID)?.into_iter();
        let id = ids.next().and_then(|id| id.try_into().ok());
        let value = attributes(&storage, SK_DIAG_BPF_STORAGE_MAP_VALUE)?;
        values.extend(id.map(u32::from_ne_bytes).zip(value.into_iter().next()));
    }
    Ok(values)
}

/// Returns the values of all attributes of one kind.
fn attributes(attributes: &[u8], kind: u16) -> io::Result<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    for attribute in NlasIterator::new(attributes) {
        let attribute = attribute.map_err(invalid)?;
        if attribute.kind() == kind {
            found.push(attribute.value().to_vec());
        }
    }
    Ok(found)
}

fn invalid(error: impl std::fmt::Display) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("the kernel's answer cannot be read: {error}"),
    )
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;

    /// Builds an attribute: length, kind, value, padding to four bytes (linux/netlink.h).
    fn nla(kind: u16, value: &[u8]) -> Vec<u8> {
        let length = (4 + value.len()) as u16;
        let mut bytes = [length.to_ne_bytes(), kind.to_ne_bytes()].concat();
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn maps_values_are_found_in_nested_attributes() {
        let id = |id: u32| nla(2, &id.to_ne_bytes());
        let of_seven = nla(1, &[id(7), nla(3, &[1, 2, 3, 4, 5])].concat());
        let of_nine = nla(1, &[id(9), nla(3, &[6])].concat());
        let storages = [of_seven.clone(), of_nine].concat();
        let expected = [(7, vec![1, 2, 3, 4, 5]), (9, vec![6])];
        assert_eq!(storage_values(&storages).unwrap(), expected);
        assert_eq!(storage_values(&[]).unwrap(), []);
        assert_eq!(storage_values(&nla(1, &id(7))).unwrap(), []);
        assert!(storage_values(&of_seven[..of_seven.len() - 8]).is_err());
    }

    /// The answer about a socket with a value in the map 7.
    fn answer() -> Vec<u8> {
        let nested = |kind, value: &[u8]| nla(kind | NLA_F_NESTED, value);
        let storage = nested(
            SK_DIAG_BPF_STORAGE,
            &[
                nla(SK_DIAG_BPF_STORAGE_MAP_ID, &7u32.to_ne_bytes()),
                nla(SK_DIAG_BPF_STORAGE_MAP_VALUE, &[9, 8]),
            ]
            .concat(),
        );
        // Longer than what is known of it, as newer kernels have it.
        let mut info = [0; 280];
        info[80..84].copy_from_slice(&10u32.to_ne_bytes());
        info[208..216].copy_from_slice(&300u64.to_ne_bytes());
        [
            vec![0; 72],
            nla(INET_DIAG_INFO, &info),
            nla(INET_DIAG_CONG, b"netnice\0"),
            nested(INET_DIAG_SK_BPF_STORAGES, &storage),
            nla(INET_DIAG_CGROUP_ID, &4711u64.to_ne_bytes()),
        ]
        .concat()
    }

    #[test]
    fn an_answer_has_the_maps_value() {
        let payload = answer();
        let response = Response::deserialize(&NetlinkHeader::default(), &payload).unwrap();
        let socket = tcp_socket(response).unwrap().unwrap();
        assert_eq!(socket.control, "netnice");
        assert_eq!((socket.info.snd_cwnd, socket.info.bytes_retrans), (10, 300));
        assert_eq!(socket.storage, [(7, vec![9, 8])]);
        assert_eq!(socket.cgroup, 4711);
        assert!(Response::deserialize(&NetlinkHeader::default(), &payload[..71]).is_err());
    }

    proptest! {
        /// Of a kernel that is not known yet, or cut short.
        #[test]
        fn whatever_a_kernel_answers_is_a_socket_or_an_error(
            length in any::<Index>(),
            changes in prop::collection::vec((any::<Index>(), any::<u8>()), 0..8),
        ) {
            let mut payload = answer();
            for (place, byte) in changes {
                let place = place.index(payload.len());
                payload[place] = byte;
            }
            payload.truncate(1 + length.index(payload.len()));
            let Ok(response) = Response::deserialize(&NetlinkHeader::default(), &payload) else {
                prop_assert!(payload.len() < 72);
                return Ok(());
            };
            if let Err(error) = tcp_socket(response) {
                prop_assert!(error.to_string().contains("cannot be read"), "{error}");
            }
        }
    }

    #[test]
    fn a_request_names_the_maps() {
        use std::os::fd::AsFd;
        let file = std::fs::File::open("/dev/null").unwrap();
        assert!(storage_request(&[]).is_none());
        let request = storage_request(&[file.as_fd(); 2]).unwrap();
        let mut bytes = vec![0; request.buffer_len()];
        request.emit(&mut bytes);
        let map = nla(1, &file.as_raw_fd().to_ne_bytes());
        assert_eq!(bytes, nla(0x8002, &[map.clone(), map].concat()));
    }

    #[test]
    fn connections_of_both_families_are_dumped() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(address).unwrap();
            let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let sockets = tcp_sockets(&[]).unwrap();
            let found = sockets
                .iter()
                .find(|socket| socket.header.local() == stream.local_addr().unwrap())
                .unwrap();
            assert_eq!(found.header.remote(), listener.local_addr().unwrap());
            assert!(found.info.snd_cwnd > 0 && !found.control.is_empty());
            let listening = |socket: &&TcpSocket| {
                socket.header.local() == listener.local_addr().unwrap()
                    && socket.header.remote().port() == 0
            };
            assert_eq!(sockets.iter().filter(listening).count(), 0);
        }
    }
}

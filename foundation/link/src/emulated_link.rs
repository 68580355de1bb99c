// SPDX-License-Identifier: MIT OR Apache-2.0
//! Start, inspection and stop of an emulated link.

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;
use std::sync::mpsc::{self, Sender};
use std::thread::{self, JoinHandle};

use nix::ifaddrs::getifaddrs;
use nix::sys::eventfd::{EfdFlags, EventFd};

use crate::addresses::Addresses;
use crate::error::{Attempted, LinkError};
use crate::hosts::{DEVICE_QUEUE, raise_buffers, set_up_loopback};
use crate::namespace::Namespace;
use crate::netlink::Netlink;
use crate::tun::Tun;
use crate::two_way::{Progress, Request, TwoWayLink};
use crate::{Direction, EmulatedLinkSpec, LinkReport, MTU};

/// Name of the near device. A namespace has at most one; its presence shows that the namespace is behind a link.
const NEAR_DEVICE: &str = "nn-near";
/// Name pattern of the far devices, one for each link started from a namespace.
const FAR_DEVICE: &str = "nn-far%d";
/// A running link between two namespaces.
///
/// ```text
///   near namespace          this process          far namespace
///   command, 10.77.0.1 === TUN == up/down == TUN === 10.77.0.2, servers
/// ```
///
/// Started on an ordinary machine, both namespaces are new and isolated. Started behind another link (in its near
/// namespace), the far side is that very namespace, which forwards. Links thus nest, and the innermost namespace
/// reaches the far end of the outermost link through all of them, without address translation. See
/// [`EmulatedLink::server`].
///
/// Stopping, dropping, or any death of the process removes the devices and namespaces.
#[derive(Debug)]
pub struct EmulatedLink {
    spec: EmulatedLinkSpec,
    near: Namespace,
    far: Namespace,
    addresses: Addresses,
    ipv6: bool,
    devices: [u32; 2],
    wake: Arc<EventFd>,
    requests: Sender<Request>,
    thread: Option<JoinHandle<Progress>>,
}

impl EmulatedLink {
    /// Checks that the kernel provides network namespaces and TUN devices to this user. Leaves nothing behind.
    pub fn check() -> Result<(), LinkError> {
        Namespace::create()?.run(|| Tun::open(NEAR_DEVICE).map(drop))?
    }

    /// Starts a link from the namespace of the calling thread. Needs root (CAP_SYS_ADMIN and CAP_NET_ADMIN); with
    /// CAP_SYS_NICE and CAP_IPC_LOCK, which root has, it runs in real time and the memory in use is locked in place.
    pub fn start(spec: &EmulatedLinkSpec) -> Result<EmulatedLink, LinkError> {
        spec.check()?;
        let behind = link_we_are_behind()?;
        let far = match behind {
            Some(_) => Namespace::current()?,
            None => Namespace::create()?,
        };
        let near = Namespace::create()?;
        let far_tun = far.run(|| Tun::open(FAR_DEVICE))??;
        let addresses = match behind {
            Some(outer) => {
                // The kernel gave the device the smallest free number, so no other link has these addresses.
                let number = far_tun
                    .name
                    .trim_start_matches(|c: char| !c.is_ascii_digit())
                    .parse();
                outer.behind(number.unwrap_or(usize::MAX))?
            }
            None => Addresses::OUTERMOST,
        };
        let near_tun = near.run(|| Tun::open(NEAR_DEVICE))??;
        let links = [Direction::Up, Direction::Down].map(|direction| spec.description(direction));
        let in_flight = links
            .iter()
            .map(|link| link.bytes_in_flight(spec.base_rtt()));
        let in_flight = in_flight.max().flatten().unwrap_or(0);
        let near_ipv6 = near.run(|| set_up_near(&near_tun, addresses, in_flight))??;
        let far_ipv6 =
            far.run(|| set_up_far(&far_tun, addresses, behind.is_some(), in_flight))??;

        let devices = [near_tun.index, far_tun.index];
        let link = TwoWayLink::new(spec)?;
        let files = [near_tun.file, far_tun.file];
        let wake = EventFd::from_value_and_flags(0, EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK);
        let wake = Arc::new(wake.attempted("create an event file descriptor")?);
        let (requests, inbox) = mpsc::channel();
        let thread = thread::Builder::new().name("emulated-link".into()).spawn({
            let wake = Arc::clone(&wake);
            move || link.run(files, &wake, &inbox)
        });
        let thread = Some(thread.attempted("start the link's thread")?);
        let ipv6 = near_ipv6 && far_ipv6;
        Ok(EmulatedLink {
            spec: spec.clone(),
            near,
            far,
            addresses,
            ipv6,
            devices,
            wake,
            requests,
            thread,
        })
    }

    /// Returns true if the link was started behind another one, so that its far side is that one's near side.
    pub fn is_nested(&self) -> bool {
        self.addresses != Addresses::OUTERMOST
    }

    /// The link's description.
    pub fn spec(&self) -> &EmulatedLinkSpec {
        &self.spec
    }

    /// Returns the namespace whose commands are behind the link.
    pub fn near(&self) -> &Namespace {
        &self.near
    }

    /// Returns the namespace on the other side: one of this link's own, or the one the link was started in.
    pub fn far(&self) -> &Namespace {
        &self.far
    }

    /// Returns the IPv4 address of the near end.
    pub fn near_ipv4(&self) -> Ipv4Addr {
        self.addresses.near().0
    }

    /// Returns the IPv6 address of the near end; `None` if the machine has no IPv6.
    pub fn near_ipv6(&self) -> Option<Ipv6Addr> {
        self.ipv6.then_some(self.addresses.near().1)
    }

    /// Returns the IPv4 address of this link's own far end.
    pub fn far_ipv4(&self) -> Ipv4Addr {
        self.addresses.far().0
    }

    /// Returns the IPv6 address of this link's own far end; `None` if the machine has no IPv6.
    pub fn far_ipv6(&self) -> Option<Ipv6Addr> {
        self.ipv6.then_some(self.addresses.far().1)
    }

    /// Returns the address of the far end of the outermost link, where servers run: beyond this link and all it is
    /// nested in.
    pub fn server(&self) -> Ipv4Addr {
        Addresses::OUTERMOST.far().0
    }

    /// Returns variables for commands behind the link: `NETNICE_NEAR` is their own address, `NETNICE_FAR` the outermost
    /// far end ([`EmulatedLink::server`]); `NETNICE_NEAR6` and `NETNICE_FAR6` are their IPv6 counterparts, where the
    /// machine has IPv6.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let mut variables = vec![
            ("NETNICE_NEAR", self.near_ipv4().to_string()),
            ("NETNICE_FAR", self.server().to_string()),
        ];
        if let Some(near) = self.near_ipv6() {
            variables.push(("NETNICE_NEAR6", near.to_string()));
            variables.push(("NETNICE_FAR6", Addresses::OUTERMOST.far().1.to_string()));
        }
        variables
    }

    /// Reports on the link since its start.
    pub fn report(&self) -> Result<LinkReport, LinkError> {
        let (reply, answer) = mpsc::sync_channel(1);
        let gone = || LinkError::Panicked("emulated-link".into());
        self.requests
            .send(Request::Report(reply))
            .map_err(|_| gone())?;
        self.wake.write(1).attempted("wake the link")?;
        self.judged(answer.recv().map_err(|_| gone())?)
    }

    /// Stops the link, removes its devices and namespaces, and returns its last report.
    pub fn stop(mut self) -> Result<LinkReport, LinkError> {
        // The devices' own counters vanish with the devices.
        let last = self.report()?;
        self.join()?;
        Ok(last)
    }

    fn judged(&self, progress: Progress) -> Result<LinkReport, LinkError> {
        let Progress {
            mut report,
            failure,
        } = progress;
        // A device counts a packet as transmitted when this process reads it, and drops packets that find its queue
        // full.
        let drops = |namespace: &Namespace, index: u32| {
            namespace.run(|| {
                Netlink::open()?
                    .statistics(index)
                    .map(|stats| (stats.tx_dropped, stats.rx_dropped))
            })
        };
        let (near, far) = (
            drops(&self.near, self.devices[0])?,
            drops(&self.far, self.devices[1])?,
        );
        if let (Ok((near_out, near_in)), Ok((far_out, far_in))) = (&near, &far) {
            report.up.device_drops = near_out + far_in;
            report.down.device_drops = far_out + near_in;
        }
        report.judge(failure.as_deref());
        Ok(report)
    }

    fn join(&mut self) -> Result<(), LinkError> {
        let Some(thread) = self.thread.take() else {
            return Ok(());
        };
        let _ = self.requests.send(Request::Stop);
        let _ = self.wake.write(1);
        thread
            .join()
            .map(drop)
            .map_err(|_| LinkError::Panicked("emulated-link".into()))
    }
}

impl Drop for EmulatedLink {
    fn drop(&mut self) {
        // The panic hook has already printed a panic of the thread.
        let _ = self.join();
    }
}

/// Returns the link behind which the calling thread is, if any.
fn link_we_are_behind() -> Result<Option<Addresses>, LinkError> {
    let interfaces = getifaddrs().attempted("list network interfaces")?;
    let near = interfaces.filter(|interface| interface.interface_name == NEAR_DEVICE);
    let mut addresses =
        near.filter_map(|interface| Some(interface.address?.as_sockaddr_in()?.ip()));
    Ok(addresses.find_map(Addresses::of_near_end))
}

/// Configures the near side, in its namespace. Whether it has IPv6.
fn set_up_near(tun: &Tun, addresses: Addresses, in_flight: u64) -> Result<bool, LinkError> {
    let (ipv4, ipv6) = addresses.near();
    let netlink = Netlink::open().attempted("open rtnetlink")?;
    set_up_loopback(&netlink)?;
    raise_buffers(in_flight);
    let has_ipv6 = set_up_device(&netlink, tun, ipv4, ipv6)?;
    let add_routes = |any: IpAddr| {
        netlink
            .add_route(any, 0, Some(tun.index))
            .attempted("add the default route of the near side")?;
        // Packets to addresses of this prefix that no link has (yet) must not go back to where they came from.
        let (prefix, length) = addresses.delegated(any);
        netlink
            .add_route(prefix, length, None)
            .attempted("add a route of the near side")
    };
    add_routes(Ipv4Addr::UNSPECIFIED.into())?;
    if has_ipv6 {
        add_routes(Ipv6Addr::UNSPECIFIED.into())?;
    }
    Ok(has_ipv6)
}

/// Configures the far side, in its namespace. Returns true if it has IPv6.
fn set_up_far(
    tun: &Tun,
    addresses: Addresses,
    nested: bool,
    in_flight: u64,
) -> Result<bool, LinkError> {
    let (ipv4, ipv6) = addresses.far();
    let netlink = Netlink::open().attempted("open rtnetlink")?;
    if !nested {
        set_up_loopback(&netlink)?;
        raise_buffers(in_flight);
    }
    let has_ipv6 = set_up_device(&netlink, tun, ipv4, ipv6)?;
    let families = [Some(IpAddr::V4(ipv4)), has_ipv6.then_some(IpAddr::V6(ipv6))];
    for family in families.into_iter().flatten() {
        let (prefix, length) = addresses.delegated(family);
        netlink
            .add_route(prefix, length, Some(tun.index))
            .attempted("add the route of the far side")?;
    }
    // A nested link's far side forwards packets; an outermost one answers "unreachable" for addresses that do not
    // exist.
    let forwarding = fs::write("/proc/sys/net/ipv4/ip_forward", "1");
    let forwarding6 = if has_ipv6 {
        fs::write("/proc/sys/net/ipv6/conf/all/forwarding", "1")
    } else {
        Ok(())
    };
    if nested {
        forwarding
            .and(forwarding6)
            .attempted("turn forwarding on (is /proc/sys writable?)")?;
    }
    Ok(has_ipv6)
}

/// Sets the device's MTU, queue length, state and addresses. Returns true if IPv6 is among them.
fn set_up_device(
    netlink: &Netlink,
    tun: &Tun,
    ipv4: Ipv4Addr,
    ipv6: Ipv6Addr,
) -> Result<bool, LinkError> {
    let settings = format!("/proc/sys/net/ipv6/conf/{}", tun.name);
    let has_ipv6 = fs::read_to_string(format!("{settings}/disable_ipv6"))
        .is_ok_and(|value| value.trim() == "0");
    // Without a link-local address, no router solicitation disturbs the measured link.
    let _ = fs::write(format!("{settings}/addr_gen_mode"), "1");
    netlink
        .bring_up(tun.index, Some((MTU as u32, DEVICE_QUEUE)))
        .attempted(format!("bring {} up", tun.name))?;
    netlink
        .add_address(tun.index, ipv4.into(), 30)
        .attempted(format!("give {} the address {ipv4}", tun.name))?;
    if has_ipv6 {
        netlink
            .add_address(tun.index, ipv6.into(), 64)
            .attempted(format!("give {} the address {ipv6}", tun.name))?;
    }
    Ok(has_ipv6)
}

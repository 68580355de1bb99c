// SPDX-License-Identifier: MIT OR Apache-2.0
//! Network namespaces, an emulated link, and scenarios on the running kernel. Linux, root.
//!
//! # A link
//!
//! [`EmulatedLink`] joins two network namespaces by a link with a rate, a delay, a queue and a loss in each direction.
//! The kernel's own TCP crosses it. The program under test runs on the *near* side; the *far* side is the world:
//!
//! ```no_run
//! use std::process::Command;
//! use netnice_lab::{Direction, EmulatedLink, EmulatedLinkSpec};
//!
//! let mut spec = EmulatedLinkSpec::symmetric("rate=10mbit,delay=20ms,queue=2.5bdp".parse()?);
//! spec.change(Direction::Up, "rate=2mbit,loss=0.1%".parse()?);
//! let link = EmulatedLink::start(&spec)?;
//! let mut server = link.far().spawn(Command::new("python3").args(["-m", "http.server", "80"]))?;
//! let mut command = Command::new("curl");
//! command.arg(format!("http://{}/", link.server())).envs(link.environment());
//! let status = link.near().status(&mut command)?;
//! server.kill().and_then(|()| server.wait()).ok();
//! println!("{status}, {}", link.stop()?);
//! # Ok::<(), netnice_lab::LabError>(())
//! ```
//!
//! Nothing has a name or a mount, so nothing is left behind, whatever kills the process. Links nest: a link started
//! behind another (on a thread or in a process in its near namespace) has that namespace as its far side, and traffic
//! from the innermost namespace crosses them all on its way to the outermost far end.
//!
//! The accuracy of a link depends on its timing. It runs as a real-time thread and measures the lateness of each packet
//! it hands over; [`LinkReport`] says whether a measurement over it can be trusted, and why not.
//!
//! # Scenarios
//!
//! [`experiment`] runs scenario files: networks of such links, computed in one thread, with flows of real sockets over them.

mod clock;
mod driver;
mod error;
pub mod experiment;
mod hosts;
mod impaired_link;
mod lateness;
pub mod link;
pub mod namespace;
mod netlink;
mod packet;
mod scheduling;
mod serde_seconds;
mod tun;

pub use error::LabError;
pub use link::{
    Aqm, Direction, DirectionChanges, DirectionReport, DirectionSpec, EmulatedLink,
    EmulatedLinkSpec, Lateness, LinkJitter, LinkReport, LossBurst, MTU, Policer, TimedChange,
    TraceFile, Verdict,
};
pub use namespace::Namespace;
pub use scheduling::SchedulingClass;

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Network namespaces and an emulated link between two of them. Linux, root.
//!
//! [`EmulatedLink`] joins two network namespaces by a link with a rate, a delay, a queue and a loss in each direction.
//! The kernel's own TCP crosses it. The program under test runs on the *near* side; the *far* side is the world:
//!
//! ```no_run
//! use std::process::Command;
//! use netnice_link::{Direction, EmulatedLink, EmulatedLinkSpec};
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
//! # Ok::<(), netnice_link::LinkError>(())
//! ```
//!
//! Nothing has a name or a mount, so nothing is left behind, whatever kills the process. Links nest: a link started
//! behind another (on a thread or in a process in its near namespace) has that namespace as its far side, and traffic
//! from the innermost namespace crosses them all on its way to the outermost far end.
//!
//! The accuracy of a link depends on its timing. It runs as a real-time thread and measures the lateness of each packet
//! it hands over; [`LinkReport`] says whether a measurement over it can be trusted, and why not.
//!
//! Networks of more links than one use the parts: [`driver`] carries packets between devices, [`ImpairedLink`] computes a
//! direction of a link, [`namespace`], [`hosts`] and [`netlink`] make the ends.

mod addresses;
pub mod clock;
pub mod driver;
mod emulated_link;
mod error;
pub mod hosts;
mod impaired_link;
pub mod lateness;
pub mod namespace;
pub mod netlink;
pub mod packet;
mod report;
pub mod scheduling;
mod serde_seconds;
mod settings;
mod spec;
pub mod tun;
mod two_way;

pub use emulated_link::EmulatedLink;
pub use error::{Attempted, LinkError};
pub use impaired_link::{ImpairedLink, LinkFigures};
pub use namespace::Namespace;
pub use packet::Frame;
pub use report::{DirectionReport, Lateness, LinkReport, Verdict};
pub use scheduling::SchedulingClass;
pub use settings::{Aqm, LinkJitter, LossBurst, Policer, TimedChange, TraceFile};
pub use spec::{Direction, DirectionChanges, DirectionSpec, EmulatedLinkSpec, MTU};

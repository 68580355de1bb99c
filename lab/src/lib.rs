// SPDX-License-Identifier: MIT OR Apache-2.0
//! Network namespaces, an emulated link, real traffic over it, and measurement.

mod error;
pub mod link;
mod namespace;
mod netlink;
mod serde_seconds;
pub mod statistics;
mod testbed;
pub mod traffic;

pub use error::LabError;
pub use link::{
    Direction, DirectionChanges, DirectionReport, DirectionSpec, EmulatedLink, Lateness,
    LinkReport, LinkSpec, MTU, SchedulingClass,
};
pub use namespace::Namespace;
pub use testbed::{Flow, FlowReport, Testbed, TestbedReport};
pub use traffic::{
    Bulk, BulkReport, Goodput, TcpSample, Udp, UdpPattern, UdpReport, Web, WebReport,
};

// SPDX-License-Identifier: MIT OR Apache-2.0
//! A link and the flows over it, run together.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::error::Attempted;
use crate::traffic::{Bulk, BulkReport, Clock, End, Path, Udp, UdpReport, Web, WebReport};
use crate::traffic::{PreparedBulk, PreparedUdp, PreparedWeb};
use crate::{Direction, EmulatedLink, LabError, LinkReport, LinkSpec};

/// Time for all threads to be in place before the run begins.
const LEAD: Duration = Duration::from_millis(20);

/// Any flow.
#[derive(Debug, Clone, PartialEq)]
pub enum Flow {
    /// TCP that always has something to send.
    Bulk(Bulk),
    /// UDP at a constant rate, or on and off.
    Udp(Udp),
    /// Small fetches.
    Web(Web),
}

impl From<Bulk> for Flow {
    fn from(bulk: Bulk) -> Flow {
        Flow::Bulk(bulk)
    }
}

impl From<Udp> for Flow {
    fn from(udp: Udp) -> Flow {
        Flow::Udp(udp)
    }
}

impl From<Web> for Flow {
    fn from(web: Web) -> Flow {
        Flow::Web(web)
    }
}

/// A link with flows to be run over it. Several can run at once, each with namespaces of its own.
///
/// ```no_run
/// use std::time::Duration;
/// use netnice_lab::{Bulk, LinkSpec, Testbed};
///
/// let seconds = Duration::from_secs;
/// let link = LinkSpec::symmetric("rate=10mbit,delay=20ms,queue=2.5bdp".parse()?);
/// let report = Testbed::new(&link)?
///     .flow("first", Bulk::new("cubic"))
///     .flow("second", Bulk::new("reno").from(seconds(5)))
///     .run(seconds(30))?;
/// println!("{}", report.link);
/// println!("{:.0} bit/s", report.goodput("second", seconds(10), seconds(30))?);
/// # Ok::<(), netnice_lab::LabError>(())
/// ```
#[derive(Debug)]
pub struct Testbed {
    link: EmulatedLink,
    flows: Vec<(String, Flow)>,
}

impl Testbed {
    /// Starts a link for flows to be added. Needs root.
    pub fn new(spec: &LinkSpec) -> Result<Testbed, LabError> {
        Ok(Testbed::on(EmulatedLink::start(spec)?))
    }

    /// Flows over a link that is already running, between its own two ends.
    pub fn on(link: EmulatedLink) -> Testbed {
        Testbed {
            link,
            flows: Vec::new(),
        }
    }

    /// The link, for whatever else is to run over it.
    pub fn link(&self) -> &EmulatedLink {
        &self.link
    }

    /// Adds a flow under a name of its own.
    pub fn flow(mut self, name: impl Into<String>, flow: impl Into<Flow>) -> Testbed {
        self.flows.push((name.into(), flow.into()));
        self
    }

    /// Runs all flows for `duration`, and takes the link down. Takes a little longer than `duration`, for what is under
    /// way at the end. Mistakes in the flows are found before anything is sent.
    pub fn run(self, duration: Duration) -> Result<TestbedReport, LabError> {
        let link = self.link;
        let path = Path {
            near: End {
                namespace: link.near().clone(),
                ipv4: link.near_ipv4().into(),
                ipv6: link.near_ipv6().map(Into::into),
            },
            far: End {
                namespace: link.far().clone(),
                ipv4: link.far_ipv4().into(),
                ipv6: link.far_ipv6().map(Into::into),
            },
        };
        let mut prepared = BTreeMap::new();
        for (name, flow) in self.flows {
            let flow = match flow {
                Flow::Bulk(bulk) => Prepared::Bulk(bulk.prepare(&path)?),
                Flow::Udp(udp) => Prepared::Udp(udp.prepare(&path)?),
                Flow::Web(web) => Prepared::Web(web.prepare(&path)?),
            };
            if prepared.insert(name.clone(), flow).is_some() {
                return Err(LabError::Testbed(format!(
                    "two flows are called `{name}`; give each its own name"
                )));
            }
        }
        let spec = link.spec();
        let queueing =
            [Direction::Up, Direction::Down].map(|direction| spec.max_queueing_delay(direction));
        let grace = spec.base_rtt() + queueing[0] + queueing[1] + Duration::from_millis(250);
        let clock = Clock {
            origin: Instant::now() + LEAD,
            end: duration,
            grace,
        };
        let flows = thread::scope(|scope| {
            let mut running = Vec::new();
            for (name, flow) in prepared {
                let thread = thread::Builder::new()
                    .name("flow".into())
                    .spawn_scoped(scope, move || flow.run(clock));
                running.push((name, thread.attempted("start a thread")?));
            }
            let mut reports = BTreeMap::new();
            for (name, thread) in running {
                let report = thread
                    .join()
                    .unwrap_or_else(|_| Err(LabError::Panicked("flow".into())))?;
                reports.insert(name, report);
            }
            Ok::<_, LabError>(reports)
        })?;
        Ok(TestbedReport {
            flows,
            link: link.stop()?,
        })
    }
}

enum Prepared {
    Bulk(PreparedBulk),
    Udp(PreparedUdp),
    Web(PreparedWeb),
}

impl Prepared {
    fn run(self, clock: Clock) -> Result<FlowReport, LabError> {
        Ok(match self {
            Prepared::Bulk(bulk) => FlowReport::Bulk(bulk.run(clock)?),
            Prepared::Udp(udp) => FlowReport::Udp(udp.run(clock)?),
            Prepared::Web(web) => FlowReport::Web(web.run(clock)?),
        })
    }
}

/// What became of a flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FlowReport {
    /// Of a bulk flow.
    Bulk(BulkReport),
    /// Of a UDP flow.
    Udp(UdpReport),
    /// Of web fetches.
    Web(WebReport),
}

/// What became of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TestbedReport {
    /// Each flow by its name.
    pub flows: BTreeMap<String, FlowReport>,
    /// The link, with its verdict on whether the rest can be trusted.
    pub link: LinkReport,
}

impl TestbedReport {
    /// The bulk flow of this name; an error that lists the flows where there is none.
    pub fn bulk(&self, name: &str) -> Result<&BulkReport, LabError> {
        match self.flows.get(name) {
            Some(FlowReport::Bulk(report)) => Ok(report),
            _ => Err(self.no_such("bulk", name)),
        }
    }

    /// The UDP flow of this name; an error that lists the flows where there is none.
    pub fn udp(&self, name: &str) -> Result<&UdpReport, LabError> {
        match self.flows.get(name) {
            Some(FlowReport::Udp(report)) => Ok(report),
            _ => Err(self.no_such("UDP", name)),
        }
    }

    /// The web fetches of this name; an error that lists the flows where there is none.
    pub fn web(&self, name: &str) -> Result<&WebReport, LabError> {
        match self.flows.get(name) {
            Some(FlowReport::Web(report)) => Ok(report),
            _ => Err(self.no_such("web", name)),
        }
    }

    /// Mean goodput of a bulk or UDP flow between two times, in bits per second.
    pub fn goodput(&self, name: &str, from: Duration, to: Duration) -> Result<f64, LabError> {
        match self.flows.get(name) {
            Some(FlowReport::Bulk(report)) => Ok(report.goodput.between(from, to)),
            Some(FlowReport::Udp(report)) => Ok(report.goodput.between(from, to)),
            _ => Err(self.no_such("bulk or UDP", name)),
        }
    }

    fn no_such(&self, kind: &str, name: &str) -> LabError {
        let names: Vec<&str> = self.flows.keys().map(String::as_str).collect();
        LabError::Testbed(format!(
            "there is no {kind} flow `{name}`; there are: {}",
            names.join(", ")
        ))
    }
}

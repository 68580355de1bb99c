// SPDX-License-Identifier: MIT OR Apache-2.0
//! Scenarios on the running kernel. Linux, root.
//!
//! ```text
//!  namespace of a node      a real-time thread       namespace of another node
//!  sockets == TUN ==> link -> link -> link (computed) ==> TUN == sockets
//! ```
//!
//! Each node that is an end of a flow, or group of such nodes, is a network namespace with one TUN device. The network
//! between them is computed: a packet read from a device passes all links of its path in virtual time, and is written
//! to the device of its destination when it is due. A run therefore needs one thread whatever the topology, and packets
//! can be late only where they enter and leave. Routers need no namespace.
//!
//! Each end of a flow has an address of its own. The network identifies flows by it, and the route to it carries the
//! scenario's settings of that flow's connections to the kernel.

mod check;
mod commands;
mod controls;
mod error;
mod event_record;
mod explain;
mod flow_tracer;
mod machine;
mod measurement;
mod netns;
mod network;
mod plan;
mod programs;
mod results;
mod run;
mod tcp_info;

use std::sync::Arc;

use netnice_results::RunResults;
use netnice_scenario::{Layout, Scenario};

use self::controls::Controls;
pub use check::{check, notes};
pub use error::LabError;
pub use event_record::EventRecord;
pub use explain::explain;
pub use run::Watch;

/// Runs scenarios on the running kernel. Needs root.
///
/// ```no_run
/// use std::path::Path;
/// use netnice_emulation::Lab;
/// use netnice_scenario::{ControlFiles, ScenarioFile};
///
/// let path = Path::new("scenarios/two_reno.toml");
/// let allowed = ControlFiles::default();
/// let file = ScenarioFile::load_for(path, &[], allowed, &netnice_emulation::check)?;
/// let lab = Lab::open([file.scenario()])?;
/// let layout = file.points[0].layout().expect("it was laid out as it was read");
/// let results = lab.run((file.scenario(), layout), 1, None, || true)?.expect("it was not stopped");
/// for flow in &results.flows {
///     println!("{}: {:.0} bit/s", flow.name, flow.goodput_bps);
/// }
/// let report = results.lab.expect("it is a lab's");
/// assert!(report.trustworthy, "{}", report.reason);
/// lab.close()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct Lab {
    controls: Controls,
    watch: Option<Box<dyn Watch>>,
}

impl Lab {
    /// Registers those of netnice's congestion controls that `scenarios` name, for as long as the lab is open.
    pub fn open<'a>(scenarios: impl IntoIterator<Item = &'a Scenario>) -> Result<Lab, LabError> {
        let scenarios: Vec<&Scenario> = scenarios.into_iter().collect();
        let flows = scenarios.iter().flat_map(|scenario| &scenario.flows);
        Ok(Lab {
            controls: Controls::register(flows)?,
            watch: None,
        })
    }

    /// Sets a [`Watch`] over the namespaces in which the user's programs run.
    #[must_use]
    pub fn watched_by(mut self, watch: impl Watch + 'static) -> Lab {
        self.watch = Some(Box::new(watch));
        self
    }

    /// Runs a scenario, with its layout, with one seed, in real time. Calls `go_on` about every 20 ms; returns `None` if it
    /// returned false before the end.
    ///
    /// Concurrent runs are isolated from each other, but share the machine: [`RunResults::lab`] reports whether that
    /// made them late. `events` are recorded as the simulator does; times are those at which packets enter real time and pass
    /// the computed links.
    pub fn run(
        &self,
        on: (&Scenario, Arc<Layout>),
        seed: u64,
        events: Option<EventRecord>,
        go_on: impl FnMut() -> bool,
    ) -> Result<Option<RunResults>, LabError> {
        let watch = self.watch.as_deref();
        run::run(&self.controls, watch, on, seed, events, go_on)
    }

    /// Unregisters the controls, unless others use them.
    pub fn close(self) -> Result<(), LabError> {
        Ok(self.controls.close()?)
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Congestion controls written in Python, with the interface of those in C files (`policies/control.h`).

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use netnice_congestion::control_interface::{
    ControlAck, ControlLoss, ControlWindow, Interfaced, NO_SSTHRESH, OutsideControl,
};
use netnice_results::RunResults;
use netnice_sim::{MakeControl, OutsideControls};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

use crate::scenario::Scenario;

/// A class or function that makes the control of a connection, by the name of the flows.
pub(crate) type Classes = HashMap<String, Py<PyAny>>;

/// The calls of a control, with their arguments.
const CALLS: [(&str, &str); 3] = [
    ("on_ack", "ack, window"),
    ("on_loss", "loss"),
    ("on_timeout", "loss"),
];

#[pyclass(frozen, get_all, name = "ControlAck", module = "netnice")]
pub(crate) struct PyAck {
    now_us: u32,
    rtt_us: u32,
    smoothed_rtt_us: u32,
    minimum_rtt_us: u32,
    acked: u32,
    in_flight: u32,
    cwnd_limited: bool,
}

#[pyclass(get_all, set_all, name = "ControlWindow", module = "netnice")]
pub(crate) struct PyWindow {
    cwnd: u32,
    ssthresh: u32,
}

#[pyclass(frozen, get_all, name = "ControlLoss", module = "netnice")]
pub(crate) struct PyLoss {
    now_us: u32,
    cwnd: u32,
    in_flight: u32,
}

/// The first error of a run's controls; after it no control is called.
#[derive(Debug, Clone, Default)]
pub(crate) struct Failure(Arc<Mutex<Option<PyErr>>>);

impl Failure {
    fn note(&self, error: PyErr) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(error);
    }

    pub(crate) fn is_some(&self) -> bool {
        let first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.is_some()
    }

    pub(crate) fn take(&self) -> Option<PyErr> {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.take()
    }
}

/// The control of one connection; none where it could not be made.
#[derive(Debug)]
struct PyControl {
    control: Option<Py<PyAny>>,
    failure: Failure,
}

impl PyControl {
    fn new(class: &Py<PyAny>, failure: &Failure) -> PyControl {
        let made = Python::attach(|py| {
            let control = class.bind(py).call0()?;
            for (call, arguments) in CALLS {
                if !control.hasattr(call)? {
                    return Err(PyTypeError::new_err(format!(
                        "the control {} has no method {call}({arguments}); it needs on_ack(ack, window), on_loss(loss) and on_timeout(loss)",
                        control.get_type().name()?
                    )));
                }
            }
            Ok(control.unbind())
        });
        PyControl {
            control: made.map_err(|error| failure.note(error)).ok(),
            failure: failure.clone(),
        }
    }

    /// Calls the control, unless one of the run has failed before.
    fn call<T>(
        &self,
        function: impl FnOnce(Python<'_>, &Bound<'_, PyAny>) -> PyResult<T>,
    ) -> Option<T> {
        let control = self.control.as_ref()?;
        if self.failure.is_some() {
            return None;
        }
        let result = Python::attach(|py| function(py, control.bind(py)));
        result.map_err(|error| self.failure.note(error)).ok()
    }

    fn ssthresh(&self, call: &str, loss: &ControlLoss) -> u32 {
        let ssthresh = self.call(|py, control| {
            let loss = PyLoss {
                now_us: loss.now_us,
                cwnd: loss.cwnd,
                in_flight: loss.in_flight,
            };
            let answer = control.call_method1(call, (Bound::new(py, loss)?,))?;
            answer.extract().map_err(|_| {
                let class = control.get_type().name();
                PyTypeError::new_err(format!(
                    "{}.{call}(loss) must return ssthresh, a whole number of packets from 0 to {}, not {answer:?}",
                    class.map_or_else(|_| "control".to_owned(), |name| name.to_string()),
                    u32::MAX
                ))
            })
        });
        ssthresh.unwrap_or(NO_SSTHRESH)
    }
}

impl OutsideControl for PyControl {
    fn on_ack(&mut self, ack: &ControlAck, window: &mut ControlWindow) {
        let new = self.call(|py, control| {
            let ack = PyAck {
                now_us: ack.now_us,
                rtt_us: ack.rtt_us,
                smoothed_rtt_us: ack.smoothed_rtt_us,
                minimum_rtt_us: ack.minimum_rtt_us,
                acked: ack.acked,
                in_flight: ack.in_flight,
                cwnd_limited: ack.cwnd_limited != 0,
            };
            let set = PyWindow {
                cwnd: window.cwnd,
                ssthresh: window.ssthresh,
            };
            let set = Bound::new(py, set)?;
            control.call_method1("on_ack", (Bound::new(py, ack)?, &set))?;
            let set = set.borrow();
            Ok(ControlWindow {
                cwnd: set.cwnd,
                ssthresh: set.ssthresh,
            })
        });
        if let Some(new) = new {
            *window = new;
        }
    }

    fn on_loss(&mut self, loss: &ControlLoss) -> u32 {
        self.ssthresh("on_loss", loss)
    }

    fn on_timeout(&mut self, loss: &ControlLoss) -> u32 {
        self.ssthresh("on_timeout", loss)
    }
}

/// The controls of a run; their errors go to `failure`.
pub(crate) fn of_run(py: Python<'_>, classes: &Classes, failure: &Failure) -> OutsideControls {
    let controls = classes.iter().map(|(flows, class)| {
        let (class, failure) = (class.clone_ref(py), failure.clone());
        let make: MakeControl =
            Arc::new(move || Box::new(Interfaced(PyControl::new(&class, &failure))));
        (flows.clone(), make)
    });
    controls.collect()
}

/// Refuses names of flows that the scenario does not have over TCP.
pub(crate) fn check(scenario: &Scenario, classes: &Classes) -> PyResult<()> {
    let known = scenario.tcp_flows();
    match classes.keys().find(|name| !known.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => Err(PyValueError::new_err(format!(
            "controls: there are no flows `{name}` over TCP; there are {}",
            known.join(", ")
        ))),
    }
}

/// Names the controls in the results as Python does.
pub(crate) fn name(py: Python<'_>, run: &mut RunResults, classes: &Classes) {
    for flow in &mut run.flows {
        if let Some(class) = classes.get(&flow.group) {
            let class = class.bind(py);
            let name = class.getattr("__name__").and_then(|name| name.extract());
            flow.congestion_control = name.unwrap_or_else(|_| class.to_string());
        }
    }
}

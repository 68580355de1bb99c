// SPDX-License-Identifier: MIT OR Apache-2.0
//! The compiled half of the Python package `netnice`: scenarios, runs and results. Python's half is in `netnice/`.

mod batch;
mod control;
mod directory;
mod error;
mod runs;
mod scenario;
mod simulation;
mod tables;
mod toml;

use pyo3::prelude::*;

/// Scenarios, runs and results of netnice's simulator.
#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::batch::{Judge, Reproduction};
    #[pymodule_export]
    use crate::control::{PyAck, PyLoss, PyWindow};
    #[pymodule_export]
    use crate::directory::Directory;
    #[pymodule_export]
    use crate::error::ScenarioError;
    #[pymodule_export]
    use crate::runs::{Runs, student_t_975};
    #[pymodule_export]
    use crate::scenario::Scenario;
    #[pymodule_export]
    use crate::simulation::{run_batch, run_local};
    #[pymodule_export]
    use crate::tables::Table;

    #[pymodule_init]
    fn init(module: &super::Bound<'_, super::PyModule>) -> super::PyResult<()> {
        use pyo3::types::PyModuleMethods;
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add(
            "NO_SSTHRESH",
            netnice_congestion::control_interface::NO_SSTHRESH,
        )
    }
}

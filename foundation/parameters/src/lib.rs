// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a user may set of a congestion control, and what its policy reports. The policies themselves are the C headers in
//! `policies/`: kernel and simulator exchange these structs with them.
//!
//! A new parameter is a row of [`PARAMETERS`].

pub mod deadline;
pub mod decisions;
pub mod exchange;
mod given;
mod parameter;
pub mod policies;
mod table;

pub use given::{
    ControlParameters, ParameterError, Settings, kernel_parameters, listed, of, takers,
};
pub use parameter::{Kind, Member, Parameter, Unit, Value};
pub use table::{PARAMETERS, POLICY_PARAMETERS_BYTES};

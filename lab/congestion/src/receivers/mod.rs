// SPDX-License-Identifier: MIT OR Apache-2.0
//! The controls that give a flow low priority from its receiving end, by name: they set the window that the receiver
//! advertises.
//!
//! A new one is one file here, its `mod`, and one line in `RECEIVERS`. One that asks a policy of TCP-LP's family is a
//! declaration, as in `rledbat.rs`. Its parameters are rows of [`netnice_parameters::PARAMETERS`], by its name.

mod arrivals;
mod hstcplp;
mod interface;
mod netnice;
mod rledbat;
mod tcplp;

use std::fmt;

use interface::Registration;
pub use interface::{Member, Opening, ReceiverPolicy, Shared};

use netnice_parameters::exchange::Parameters;
use netnice_parameters::{
    self as parameters, ControlParameters, Parameter, ParameterError, Settings,
};

/// One line for each receiver.
const RECEIVERS: &[Registration] = &[
    netnice::REGISTRATION,
    rledbat::REGISTRATION,
    tcplp::REGISTRATION,
    hstcplp::REGISTRATION,
];

const NAMES: [&str; RECEIVERS.len()] = {
    let mut names = [""; RECEIVERS.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = RECEIVERS[index].name;
        index += 1;
    }
    names
};

/// A receiver that was asked for, with its parameters checked.
#[derive(Clone)]
pub struct Wanted {
    registration: &'static Registration,
    parameters: Parameters,
}

impl Wanted {
    /// Creates the state of a new connection.
    pub fn open(&self, opening: Opening) -> Box<dyn ReceiverPolicy> {
        (self.registration.open)(&self.parameters, opening)
    }
}

impl fmt::Debug for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Wanted")
            .field("name", &self.registration.name)
            .field("parameters", &self.parameters)
            .finish()
    }
}

/// Reason why a receiver cannot be had.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ReceiverError {
    /// No receiver has this name.
    #[error("no control `{name}` works from the receiving end; there are {}", NAMES.join(", "))]
    Unknown {
        /// The name requested.
        name: String,
    },
    /// The receiver does not take a parameter, or not with this value.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
}

/// The names of all receivers.
pub fn names() -> &'static [&'static str] {
    &NAMES
}

fn find(name: &str) -> Option<&'static Registration> {
    RECEIVERS.iter().find(|receiver| receiver.name == name)
}

/// Returns a one-line description of a receiver; `None` if there is no such receiver.
pub fn summary(name: &str) -> Option<&'static str> {
    Some(find(name)?.summary)
}

/// Returns whether a kernel has this receiver, too.
pub fn is_in_kernel(name: &str) -> bool {
    find(name).is_some_and(|receiver| receiver.in_kernel)
}

/// Returns whether a receiver needs the timestamp option (RFC 7323).
pub fn needs_timestamps(name: &str) -> bool {
    find(name).is_some_and(|receiver| !receiver.without_timestamps)
}

/// Returns the parameters that a receiver takes; none if there is no such receiver.
pub fn parameters(name: &str) -> impl Iterator<Item = &'static Parameter> {
    let receiver = find(name);
    let rows = receiver.map(|receiver| {
        parameters::of(receiver.name).filter(|row| !receiver.of_senders.contains(&row.name))
    });
    rows.into_iter().flatten()
}

/// Checks that a receiver exists and takes these parameters.
///
/// # Errors
/// If there is no such receiver, or it does not take what `given` sets; the error names the allowed values.
pub fn wanted(name: &str, given: &ControlParameters) -> Result<Wanted, ReceiverError> {
    let registration = find(name).ok_or_else(|| ReceiverError::Unknown {
        name: name.to_owned(),
    })?;
    let of_senders = registration.of_senders;
    if let Some(parameter) = of_senders
        .iter()
        .find(|parameter| given.iter().any(|(name, _)| name == **parameter))
    {
        return Err(ReceiverError::Parameter(ParameterError::OfSenders {
            control: registration.name,
            name: parameter,
        }));
    }
    Ok(Wanted {
        registration,
        parameters: Settings::check(registration.name, given)?.policy_parameters(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_receiver_opens_with_its_defaults() {
        for name in names() {
            let mut all = ControlParameters::new();
            for parameter in parameters(name) {
                all.set(parameter.name, parameter.kind.default());
            }
            let wanted = wanted(name, &all).unwrap_or_else(|error| panic!("{error}"));
            let policy = wanted.open(Opening {
                window_bytes: 14_480,
                mss: 1448,
                now_us: 0,
                timestamps: true,
                member: None,
            });
            assert_eq!(policy.clamp_bytes(), 14_480, "{name}");
            assert!(!summary(name).expect("it is registered").is_empty());
        }
    }

    #[test]
    fn errors_name_what_is_allowed() {
        let none = ControlParameters::new();
        let error = wanted("ledbatpp", &none).expect_err("no such receiver");
        assert_eq!(
            error.to_string(),
            format!(
                "no control `ledbatpp` works from the receiving end; there are {}",
                NAMES.join(", ")
            )
        );
        let paused = none.clone().with("minimum_cwnd", 0.044);
        let error = wanted("tcplp", &paused).expect_err("a receiver has no pacing");
        assert_eq!(
            error.to_string(),
            "minimum_cwnd of tcplp is for senders and has no effect at a receiver: leave it out"
        );
        assert!(wanted("rledbat", &none.with("target_us", 60_000.0)).is_ok());
    }
}

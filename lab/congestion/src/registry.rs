// SPDX-License-Identifier: MIT OR Apache-2.0
//! The congestion controls by name.
//!
//! A new control is one file in `controls/`, its `pub mod` there, one line in `CONTROLS`, and a row of
//! [`netnice_parameters::PARAMETERS`] for each parameter. Controls are boxed: a call through a vtable costs about 1 ns of the 10 to 100 ns
//! that an ACK takes, and keeps senders independent of the controls.

use netnice_parameters::policies::called_here;
use netnice_parameters::{
    self as parameters, ControlParameters, Parameter, ParameterError, Settings,
};

use crate::congestion_control::{CongestionControl, Registration};
use crate::controls;

/// One line for each control.
const CONTROLS: &[Registration] = &[
    controls::reno::REGISTRATION,
    controls::cubic::REGISTRATION,
    controls::vegas::REGISTRATION,
    controls::highspeed::REGISTRATION,
    controls::tcplp::REGISTRATION,
    controls::tcplp_ecn::REGISTRATION,
    controls::hstcplp::REGISTRATION,
    controls::netnice::REGISTRATION,
    controls::ledbat::REGISTRATION,
    controls::ledbatpp::REGISTRATION,
    controls::tcpnice::REGISTRATION,
    controls::dstcp::REGISTRATION,
    controls::bbr::REGISTRATION,
    controls::bbr3::REGISTRATION,
    controls::dctcp::REGISTRATION,
    controls::prague::REGISTRATION,
];

const NAMES: [&str; CONTROLS.len()] = {
    let mut names = [""; CONTROLS.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = CONTROLS[index].name;
        index += 1;
    }
    names
};

/// Reason why a control cannot be created.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ControlError {
    /// No control has this name.
    #[error("there is no congestion control \"{name}\"; {}", instead_of(name))]
    UnknownControl {
        /// The name requested.
        name: String,
    },
    /// The control does not take a parameter, or not with this value.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
}

/// Returns the part of an error message that follows the name of an unknown control.
fn instead_of(name: &str) -> String {
    match called_here(name) {
        Some(ours) => format!("it is called \"{ours}\" here"),
        None => format!("there are {}", NAMES.join(", ")),
    }
}

/// The names of all controls.
pub fn names() -> &'static [&'static str] {
    &NAMES
}

fn find(name: &str) -> Result<&'static Registration, ControlError> {
    let unknown = || ControlError::UnknownControl {
        name: name.to_string(),
    };
    CONTROLS.iter().find(|c| c.name == name).ok_or_else(unknown)
}

/// Returns the parameters of a control.
///
/// # Errors
/// If there is no such control.
pub fn parameters(
    name: &str,
) -> Result<impl Iterator<Item = &'static Parameter> + Clone, ControlError> {
    Ok(parameters::of(find(name)?.name))
}

/// Returns a one-line description of a control.
///
/// # Errors
/// If there is no such control.
pub fn summary(name: &str) -> Result<&'static str, ControlError> {
    Ok(find(name)?.summary)
}

/// Creates the control of a new connection. `cwnd` and the initial `ssthresh` belong to the sender.
///
/// # Errors
/// If there is no such control, or it does not take what `parameters` set; the error names the allowed values.
pub fn create(
    name: &str,
    parameters: &ControlParameters,
) -> Result<Box<dyn CongestionControl>, ControlError> {
    let control = find(name)?;
    let settings = Settings::check(control.name, parameters)?;
    Ok((control.build)(&settings))
}

/// Returns true if there is such a control with these parameters, and it depends on marks
/// ([`CongestionControl::depends_on_marks`]).
pub fn depends_on_marks(name: &str, parameters: &ControlParameters) -> bool {
    create(name, parameters).is_ok_and(|control| control.depends_on_marks())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use netnice_parameters::PARAMETERS;

    use super::*;
    use crate::receivers;

    #[test]
    fn every_control_is_created_and_knows_its_name() {
        for name in names() {
            let control = create(name, &ControlParameters::new()).expect("defaults are allowed");
            assert_eq!(control.name(), *name);
            assert!(!summary(name).expect("it is registered").is_empty());
        }
    }

    #[test]
    fn every_default_is_allowed() {
        for name in names() {
            let mut all = ControlParameters::new();
            for parameter in parameters(name).expect("it is registered") {
                all.set(parameter.name, parameter.kind.default());
            }
            create(name, &all).unwrap_or_else(|error| panic!("{error}"));
        }
    }

    #[test]
    fn names_from_elsewhere_lead_to_ours() {
        for (given, ours) in [
            ("lp", Some("tcplp")),
            ("TCP-LP", Some("tcplp")),
            ("LEDBAT++", Some("ledbatpp")),
            ("tcp_nice", Some("tcpnice")),
            ("TcpNewReno", Some("reno")),
            ("swift", None),
        ] {
            assert_eq!(called_here(given), ours, "{given}");
            assert!(ours.is_none_or(|ours| names().contains(&ours)), "{given}");
        }
        for name in names() {
            let other = called_here(name).filter(|ours| ours != name);
            assert_eq!(other, None, "{name} is ours already");
        }
        let error = create("ledbat++", &ControlParameters::new()).expect_err("no such control");
        assert_eq!(
            error.to_string(),
            "there is no congestion control \"ledbat++\"; it is called \"ledbatpp\" here"
        );
    }

    #[test]
    fn rows_name_controls_that_exist() {
        for row in PARAMETERS {
            assert!(!row.controls.is_empty(), "{}", row.name);
            for control in row.controls {
                let names = names().iter().chain(receivers::names());
                assert!(names.clone().any(|name| name == control), "{control}");
            }
        }
    }

    #[test]
    fn no_control_takes_a_name_twice() {
        for control in names().iter().chain(receivers::names()) {
            let rows = netnice_parameters::of(control);
            let names: BTreeSet<&str> = rows.clone().map(|row| row.name).collect();
            assert_eq!(names.len(), rows.count(), "{control}");
        }
    }

    #[test]
    fn errors_name_what_is_allowed() {
        let none = ControlParameters::new();
        let error = create("renoo", &none).expect_err("no such control");
        let text = error.to_string();
        assert!(
            text.starts_with("there is no congestion control \"renoo\"; there are reno"),
            "{text}"
        );
        let error = create("reno", &none.clone().with("delta", 0.15)).expect_err("unknown");
        assert_eq!(
            error.to_string(),
            "congestion control reno takes no parameter \"delta\", which is of tcplp and hstcplp; \
             reno takes appropriate_byte_counting, linux"
        );
        let error = create("highspeed", &none.clone().with("dleta", 0.15)).expect_err("unknown");
        assert_eq!(
            error.to_string(),
            "congestion control highspeed takes no parameter \"dleta\"; highspeed takes none"
        );
        let wrong = none.clone().with("appropriate_byte_counting", 1.0);
        let error = create("reno", &wrong).expect_err("kind");
        assert_eq!(
            error.to_string(),
            "appropriate_byte_counting = 1 of congestion control reno is not allowed: \
             appropriate_byte_counting is true or false"
        );
        let both = none.clone().with("c", 50.0).with("classes", true);
        let error = create("dstcp", &both).expect_err("c has no effect");
        assert_eq!(
            error.to_string(),
            "c of congestion control dstcp has no effect with classes = true: leave one of the two out"
        );
        let packet = none.with("packet_bytes", 1500.0);
        assert!(create("dstcp", &packet).is_ok());
        let error = Settings::check("dstcp", &packet)
            .and_then(|settings| settings.kernel_parameters())
            .expect_err("a kernel knows the size");
        assert_eq!(
            error.to_string(),
            "packet_bytes of congestion control dstcp is for simulations and cannot be set in a kernel: leave it out"
        );
    }
}

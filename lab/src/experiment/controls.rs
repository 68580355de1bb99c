// SPDX-License-Identifier: MIT OR Apache-2.0
//! The congestion controls of flows: the kernel's own, and ours, registered for as long as a lab is open.

use std::os::fd::AsFd;
use std::time::Duration;

use netnice_kernel::control::Control;
use netnice_kernel::parameters;
use netnice_kernel::pins::Pins;
use netnice_kernel::placement::{Placer, Settings};
use netnice_scenario::model::{CongestionControl, Parameter};
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::LabError;
use crate::traffic::set_congestion;

/// Controls that the kernel knows while this lives.
#[derive(Default)]
pub(super) struct Controls {
    registered: Option<(Pins, Placer)>,
}

impl Controls {
    /// Registers those of `names` that are ours.
    pub(super) fn register<'a>(
        names: impl Iterator<Item = &'a str>,
    ) -> netnice_kernel::Result<Controls> {
        let ours: Vec<Control> = names.filter_map(|name| Control::find(name).ok()).collect();
        if ours.is_empty() {
            return Ok(Controls::default());
        }
        let pins = Pins::open()?;
        for control in ours {
            control.register(&pins)?;
        }
        let placer = Placer::open(&pins)?;
        Ok(Controls {
            registered: Some((pins, placer)),
        })
    }

    /// Whether some of ours are among them.
    pub(super) fn are_ours(&self) -> bool {
        self.registered.is_some()
    }

    /// Puts a flow's control on a socket that is not connected yet.
    pub(super) fn put(&self, socket: &Socket, control: &CongestionControl) -> Result<(), LabError> {
        match (&self.registered, Control::find(&control.name)) {
            (Some((_, placer)), Ok(ours)) => {
                let settings = Settings {
                    control: ours,
                    parameters: parameters_of(control).map_err(LabError::Testbed)?,
                    // The scenario gives the code point.
                    mark: false,
                };
                Ok(placer.govern(SockRef::from(socket).as_fd(), &settings)?)
            }
            _ => set_congestion(socket, &control.name),
        }
    }

    /// How often a control of ours has given up a socket's window to others; `None` of other
    /// controls.
    pub(super) fn yields(&self, socket: &Socket) -> Option<u32> {
        let (_, placer) = self.registered.as_ref()?;
        placer.yields(SockRef::from(socket).as_fd())
    }

    /// Takes them out of the kernel, unless others use them.
    pub(super) fn close(self) -> netnice_kernel::Result<()> {
        match self.registered {
            Some((pins, _)) => pins.close().map(drop),
            None => Ok(()),
        }
    }
}

/// Why a kernel cannot have this control, if it cannot.
pub(super) fn refuse(control: &CongestionControl) -> Result<(), String> {
    let name = &control.name;
    if Control::find(name).is_ok() {
        return parameters_of(control).map(drop);
    }
    if !can_load(name) {
        let ours: Vec<&str> = Control::all().map(Control::name).collect();
        return Err(format!(
            "this kernel has no congestion control `{name}`; it has {}, and netnice brings {}. Load it (modprobe tcp_{name}), or take another",
            available().join(", "),
            ours.join(", ")
        ));
    }
    match control.parameters.keys().next() {
        Some(parameter) => Err(cannot_be_set(parameter, name)),
        None => Ok(()),
    }
}

fn cannot_be_set(parameter: &str, control: &str) -> String {
    format!("`{parameter}` of {control} cannot be set in a kernel; leave it out")
}

/// Parameters of a control of ours as its program takes them.
fn parameters_of(control: &CongestionControl) -> Result<parameters::Parameters, String> {
    let mut parameters = parameters::Parameters::default();
    for (name, value) in &control.parameters {
        let whole = |number: f64| number as u32;
        let set = match (name.as_str(), value) {
            ("delta", &Parameter::Number(delta)) => parameters.delta(delta),
            ("gamma", &Parameter::Number(gamma)) => parameters.gamma(gamma),
            ("inference_rtts", &Parameter::Number(rtts)) => {
                parameters.inference_rtts(whole(rtts) as u16)
            }
            ("minimum_cwnd", &Parameter::Number(packets)) => parameters.minimum_cwnd(packets),
            ("threshold_us", &Parameter::Number(floor)) => {
                parameters.threshold(Duration::from_micros(whole(floor).into()))
            }
            ("target_rate_bps", &Parameter::Number(rate)) => parameters.target(rate as u64),
            ("policy", &Parameter::Number(policy)) => parameters.policy(whole(policy) as u8),
            ("c", &Parameter::Number(c)) => parameters.c(whole(c)),
            ("classes", Parameter::Switch(true)) => Ok(parameters.c_by_round_trip()),
            ("classes", Parameter::Switch(false)) => Ok(parameters),
            _ => return Err(cannot_be_set(name, &control.name)),
        };
        parameters = set.map_err(|error| error.to_string())?;
    }
    Ok(parameters)
}

/// Whether the kernel has a control, or finds and loads it.
fn can_load(name: &str) -> bool {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP));
    socket.is_ok_and(|socket| socket.set_tcp_congestion(name.as_bytes()).is_ok())
}

/// The congestion controls that the kernel has now.
fn available() -> Vec<String> {
    let list = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    let list = list.unwrap_or_default();
    list.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn control(name: &str, parameters: &[(&str, Parameter)]) -> CongestionControl {
        let parameters = parameters.iter();
        CongestionControl {
            name: name.to_owned(),
            parameters: parameters
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect::<BTreeMap<_, _>>(),
        }
    }

    #[test]
    fn parameters_of_ours_reach_the_kernel() {
        let given = control(
            "tcplp",
            &[
                ("delta", Parameter::Number(0.2)),
                ("threshold_us", Parameter::Number(5000.0)),
            ],
        );
        let expected = parameters::Parameters::default()
            .delta(0.2)
            .and_then(|set| set.threshold(Duration::from_millis(5)));
        assert_eq!(parameters_of(&given).unwrap(), expected.unwrap());
        assert_eq!(refuse(&given), Ok(()));
    }

    #[test]
    fn what_cannot_be_set_is_named() {
        for (given, expected) in [
            (
                control("dstcp", &[("fair_window", Parameter::Switch(false))]),
                "`fair_window` of dstcp cannot be set",
            ),
            (
                control("tcplp", &[("delta", Parameter::Number(2.0))]),
                "delta",
            ),
            (
                control("nonsense", &[]),
                "has no congestion control `nonsense`",
            ),
        ] {
            let refusal = refuse(&given).unwrap_err();
            assert!(refusal.contains(expected), "{refusal}");
        }
        assert_eq!(refuse(&control("reno", &[])), Ok(()));
    }
}

// SPDX-License-Identifier: MIT OR Apache-2.0
//! Congestion controls of flows: the kernel's own, and netnice's, registered while a lab is open. So are the controls that
//! work from the receiving end.

use std::os::fd::AsFd;

use netnice_kernel::attachment::Attacher;
use netnice_kernel::control::Control;
use netnice_kernel::parameters::Parameters;
use netnice_kernel::pins::Pins;
use netnice_kernel::receiving::ReceivingGroup;
use netnice_kernel::settings::{Settings, Udp};
use netnice_scenario::model::{CongestionControl, Flow};
use socket2::{Domain, Protocol, SockRef, Socket, Type};

use crate::error::LabError;
use netnice_link::Attempted;

/// Congestion controls registered with the kernel while this value lives.
#[derive(Default)]
pub(super) struct Controls {
    /// The controls of receivers, and the cgroup of each, whose sockets it governs. Before `registered`, whose pins they use.
    receiving: Vec<(CongestionControl, ReceivingGroup)>,
    registered: Option<(Pins, Attacher)>,
    /// Those compiled from files, by the file's name in the scenario.
    files: Vec<(String, Control)>,
    /// The flows whose senders have a floor, by their place here.
    floors: Vec<String>,
}

impl Controls {
    /// Registers those of the flows' controls that are netnice's or in files.
    pub(super) fn register<'a>(
        flows: impl Iterator<Item = &'a Flow> + Clone,
    ) -> Result<Controls, LabError> {
        let mut ours: Vec<Control> = Vec::new();
        let mut files: Vec<(String, Control)> = Vec::new();
        for given in flows.clone().map(|flow| &flow.congestion_control) {
            if let Some(file) = &given.file {
                if !files.iter().any(|(name, _)| *name == given.name) {
                    let compiled = Control::from_text(file.name(), file.text())?;
                    refuse_same_name(&files, compiled, file.name())?;
                    files.push((given.name.clone(), compiled));
                }
            } else if !ours.iter().any(|known| known.name() == given.name) {
                ours.extend(Control::find(&given.name));
            }
        }
        let mut floors = Vec::new();
        for flow in flows.clone() {
            if settings_of(&files, &flow.congestion_control)?.is_some_and(|own| own.floor() > 0) {
                floors.push(flow.name.clone());
            }
        }
        let receivers = flows.filter_map(|flow| flow.receiver.at_low_priority());
        let mut wanted: Vec<&CongestionControl> = Vec::new();
        for control in receivers {
            if !wanted.contains(&control) {
                wanted.push(control);
            }
        }
        if ours.is_empty() && files.is_empty() && wanted.is_empty() {
            return Ok(Controls::default());
        }
        let pins = Pins::open()?;
        for control in ours.into_iter().chain(files.iter().map(|(_, file)| *file)) {
            control.register(&pins)?;
        }
        let mut receiving = Vec::new();
        for control in wanted {
            let receiver = Control::find(&control.name)?;
            let parameters = receiver
                .parameters(&control.control_parameters())
                .map_err(|error| LabError::Parameter(error.to_string()))?;
            let group = ReceivingGroup::new(&pins, receiver, parameters)?;
            receiving.push((control.clone(), group));
        }
        let attacher = Attacher::open(&pins)?;
        Ok(Controls {
            receiving,
            registered: Some((pins, attacher)),
            files,
            floors,
        })
    }

    /// Makes a TCP socket of IPv4 in the calling thread's network namespace; with `receiver`, one whose received data that
    /// control governs.
    pub(super) fn tcp_socket(
        &self,
        receiver: Option<&CongestionControl>,
    ) -> Result<Socket, LabError> {
        let group = receiver.and_then(|receiver| {
            let mut groups = self.receiving.iter();
            groups.find(|(control, _)| control == receiver)
        });
        match group {
            Some((_, group)) => Ok(group.tcp_socket()?.into()),
            None => Ok(Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))
                .attempted("create a TCP socket")?),
        }
    }

    /// Returns true if any of netnice's controls is registered.
    pub(super) fn are_ours(&self) -> bool {
        self.registered.is_some()
    }

    /// Selects a flow's control on a socket that is not connected yet.
    pub(super) fn put(
        &self,
        socket: &Socket,
        flow: &str,
        control: &CongestionControl,
    ) -> Result<(), LabError> {
        match (&self.registered, settings_of(&self.files, control)?) {
            (Some((_, attacher)), Some(settings)) => {
                let mut floors = self.floors.iter();
                let group = floors.position(|name| name == flow);
                let group = group.map_or(0, group_of);
                if group != 0 {
                    attacher.set_floor(group, settings.floor())?;
                }
                let settings = Settings { group, ..settings };
                Ok(attacher.govern(SockRef::from(socket).as_fd(), &settings)?)
            }
            _ => set_congestion(socket, &control.name),
        }
    }

    /// Returns how often one of netnice's controls has yielded on a socket; `None` for other controls.
    pub(super) fn yields(&self, socket: &Socket) -> Option<u32> {
        let (_, attacher) = self.registered.as_ref()?;
        attacher.yields(SockRef::from(socket).as_fd())
    }

    /// Unregisters the controls, unless others use them.
    pub(super) fn close(self) -> netnice_kernel::Result<()> {
        drop(self.receiving);
        if let Some((_, attacher)) = &self.registered {
            for number in 0..self.floors.len() {
                let _ = attacher.set_floor(group_of(number), 0);
            }
        }
        match self.registered {
            Some((pins, _)) => pins.close().map(drop),
            None => Ok(()),
        }
    }
}

/// The group of a flow with a floor, by its place. No cgroup has such a number, no supervisor, and no other lab.
fn group_of(place: usize) -> u64 {
    3 << 62 | u64::from(std::process::id()) << 16 | place as u64
}

/// The settings by which sockets get a control of netnice, or one in a file; `None` for the kernel's own.
fn settings_of(
    files: &[(String, Control)],
    control: &CongestionControl,
) -> Result<Option<Settings>, LabError> {
    let file = files.iter().find(|(name, _)| *name == control.name);
    let (ours, parameters) = match file {
        Some((_, file)) => (*file, Parameters::default()),
        None => match Control::find(&control.name) {
            Ok(ours) => {
                let parameters = ours.parameters(&control.control_parameters());
                let parameters =
                    parameters.map_err(|error| LabError::Parameter(error.to_string()))?;
                (ours, parameters)
            }
            Err(_) => return Ok(None),
        },
    };
    Ok(Some(Settings {
        control: ours,
        parameters,
        // The scenario sets the code point.
        mark: false,
        udp: Udp::No,
        ..Settings::default()
    }))
}

/// Fails if the kernel would have one name for two files.
fn refuse_same_name(
    files: &[(String, Control)],
    control: Control,
    file: &str,
) -> netnice_kernel::Result<()> {
    let mut others = files.iter();
    match others.find(|(_, other)| other.name() == control.name()) {
        None => Ok(()),
        Some((other, _)) => Err(netnice_kernel::Error::ControlFile {
            file: file.to_owned(),
            reason: format!(
                "the kernel would call it `{}`, as the control in {other}: rename one of the files",
                control.name()
            ),
        }),
    }
}

/// Checks that a kernel can provide this control; the error is the parameter at fault, if one is, and the message.
pub(super) fn refuse(control: &CongestionControl) -> Result<(), (Option<String>, String)> {
    let name = &control.name;
    if control.is_file() {
        return Ok(());
    }
    if let Ok(ours) = Control::find(name) {
        let parameters = ours.parameters(&control.control_parameters());
        return parameters
            .map(drop)
            .map_err(|error| (Some(error.parameter().to_owned()), error.to_string()));
    }
    if !can_load(name) {
        let ours: Vec<&str> = Control::all().map(Control::name).collect();
        let message = format!(
            "this kernel has no congestion control `{name}`; it has {}, and netnice brings {}. Load it (modprobe tcp_{name}), or take another",
            available().join(", "),
            ours.join(", ")
        );
        return Err((None, message));
    }
    match control.parameters.keys().next() {
        Some(parameter) => Err((
            Some(parameter.clone()),
            format!(
                "{parameter} of congestion control {name} is for simulations and cannot be set in a kernel: leave it out"
            ),
        )),
        None => Ok(()),
    }
}

/// Sets the congestion control of a socket; the error lists the available controls.
fn set_congestion(socket: &Socket, name: &str) -> Result<(), LabError> {
    socket
        .set_tcp_congestion(name.as_bytes())
        .map_err(|answer| LabError::CongestionControl {
            name: name.into(),
            available: available().join(" "),
            answer,
        })
}

/// Returns true if the kernel has a control, even one for root only, or finds and loads it.
fn can_load(name: &str) -> bool {
    if available().iter().any(|known| known == name) {
        return true;
    }
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP));
    socket.is_ok_and(|socket| socket.set_tcp_congestion(name.as_bytes()).is_ok())
}

/// Returns the congestion controls available in the kernel now.
fn available() -> Vec<String> {
    let list = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control");
    let list = list.unwrap_or_default();
    list.split_whitespace().map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use netnice_scenario::model::Parameter;

    use super::*;

    fn control(name: &str, parameters: &[(&str, Parameter)]) -> CongestionControl {
        let parameters = parameters.iter();
        CongestionControl {
            file: None,
            name: name.to_owned(),
            parameters: parameters
                .map(|(name, value)| ((*name).to_owned(), value.clone()))
                .collect::<BTreeMap<_, _>>(),
        }
    }

    #[test]
    fn controls_with_parameters_of_their_own_are_accepted() {
        for given in [
            control("tcplp", &[("delta", Parameter::Number(0.2))]),
            control("netnice", &[("threshold_us", Parameter::Number(5000.0))]),
            control("dstcp", &[("fair_window", Parameter::Switch(false))]),
            control("reno", &[]),
        ] {
            assert_eq!(refuse(&given), Ok(()));
        }
    }

    #[test]
    fn parameters_without_effect_are_refused_by_name() {
        for (given, expected) in [
            (
                control("tcplp", &[("threshold_us", Parameter::Number(5000.0))]),
                "tcplp takes no parameter \"threshold_us\", which is of netnice",
            ),
            (
                control("netnice", &[("delta", Parameter::Number(0.2))]),
                "netnice takes no parameter \"delta\", which is of tcplp and hstcplp",
            ),
            (
                control("dstcp", &[("packet_bytes", Parameter::Number(1000.0))]),
                "packet_bytes of congestion control dstcp is for simulations",
            ),
            (
                control(
                    "reno",
                    &[("appropriate_byte_counting", Parameter::Switch(true))],
                ),
                "appropriate_byte_counting of congestion control reno is for simulations",
            ),
            (
                control("tcplp", &[("delta", Parameter::Number(2.0))]),
                "delta = 2 of congestion control tcplp is not allowed",
            ),
            (
                control("nonsense", &[]),
                "has no congestion control `nonsense`",
            ),
        ] {
            let (_, refusal) = refuse(&given).unwrap_err();
            assert!(refusal.contains(expected), "{refusal}");
        }
    }
}

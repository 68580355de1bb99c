// SPDX-License-Identifier: MIT OR Apache-2.0
//! The settings of low priority: the control, its parameters, the mark, and the direction of the data.

use netnice_parameters::policies::NETNICE;

use crate::objects::control::Control;
use crate::objects::parameters::Parameters;

/// Direction in which data has low priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Data sent, and data received.
    #[default]
    Both,
    /// Data sent, by a congestion control.
    Send,
    /// Data received, by the advertised window.
    Receive,
}

impl Direction {
    pub(crate) fn sends(self) -> bool {
        self != Self::Receive
    }

    pub(crate) fn receives(self) -> bool {
        self != Self::Send
    }
}

/// Whether netnice governs UDP: uTP by the window in its packets, and all other UDP by queues that netnice makes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Udp {
    /// All of it where the kernel and the rights permit it, in cgroups only. The queues are made once something is to be held.
    #[default]
    WherePossible,
    /// As above. A command need not wait until the program is loaded: what waits for its end does so once it has begun.
    Soon,
    /// All of it from the beginning, and it is an error where it cannot be.
    Yes,
    /// No.
    No,
}

/// Control of connections, and its parameters.
#[derive(Clone, Copy)]
pub struct Settings {
    /// The congestion control.
    pub control: Control,
    /// Parameters of the control.
    pub parameters: Parameters,
    /// True if packets are marked DSCP LE (RFC 8622) as well.
    pub mark: bool,
    /// True if UDP to port 443, which is QUIC, is refused, so that programs fall back to TCP. In cgroups only.
    pub no_quic: bool,
    /// Whether UDP is governed, by netnice's policy whatever the control is.
    pub udp: Udp,
    /// Group in whose floor connections have a part that are governed one by one, as those open already; 0 for none.
    pub group: u64,
    /// Direction in which data gets low priority. The control, its mark and the guard over both apply to sent data.
    /// Received data is governed in cgroups only.
    pub direction: Direction,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            control: Control::default_control(),
            parameters: Parameters::default(),
            mark: true,
            no_quic: false,
            udp: Udp::default(),
            group: 0,
            direction: Direction::default(),
        }
    }
}

impl Settings {
    /// Returns netnice's parameters: those of another control are not its own, although members have the same names.
    pub(crate) fn netnice_parameters(&self) -> Parameters {
        match self.control.name() == NETNICE.name {
            true => self.parameters,
            false => Parameters::default(),
        }
    }

    /// Returns the rate that the connections get at least, in bytes per second; 0 without a floor.
    pub fn floor(&self) -> u64 {
        let parameters = self.netnice_parameters();
        let bits = parameters.member("target_bits_per_s").unwrap_or(0);
        bits.div_ceil(8)
    }

    /// Returns the settings for connections governed one by one that have a part in a cgroup's floor, if it has one.
    pub(crate) fn within(self, cgroup: u64) -> Self {
        let group = match self.floor() {
            0 => 0,
            _ => cgroup,
        };
        Self { group, ..self }
    }

    /// Returns the settings with QUIC refused, if `refuse` is true or they refuse it already.
    pub fn with_no_quic(self, refuse: bool) -> Self {
        Self {
            no_quic: self.no_quic || refuse,
            ..self
        }
    }

    /// Returns true if UDP is to be governed where it can be.
    pub(crate) fn wants_udp(&self) -> bool {
        self.udp != Udp::No && self.control.is_low_priority()
    }
}

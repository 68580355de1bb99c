// SPDX-License-Identifier: MIT OR Apache-2.0
//! The settings of low priority: the control, its parameters, the mark, and the direction of the data.

use crate::objects::control::Control;
use crate::objects::parameters::Parameters;

/// Which way data has low priority.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Direction {
    /// Data that is sent, and data that is received.
    #[default]
    Both,
    /// Data that is sent, by a congestion control.
    Send,
    /// Data that is received, by the window that is advertised.
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

/// Which control connections are to have, and with what parameters.
#[derive(Clone, Copy)]
pub struct Settings {
    /// The congestion control.
    pub control: Control,
    /// Parameters of the control.
    pub parameters: Parameters,
    /// Whether packets are marked DSCP LE (RFC 8622) as well.
    pub mark: bool,
    /// Which way data is to have low priority. The control, its mark and the guard over both are
    /// for what is sent. What is received is governed in cgroups only.
    pub direction: Direction,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            control: Control::default_control(),
            parameters: Parameters::default(),
            mark: true,
            direction: Direction::default(),
        }
    }
}

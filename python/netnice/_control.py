# SPDX-License-Identifier: MIT OR Apache-2.0
"""Congestion controls written in Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol, Union

if TYPE_CHECKING:
    from ._native import ControlAck, ControlLoss, ControlWindow, Scenario


class Control(Protocol):
    """The methods of a control written in Python: those of one in a C file, with the same units.

    Each connection has an object of its own. Recovery from losses is the sender's. A run stays a function of scenario
    and seed as long as a control takes time from its arguments, draws no random numbers of its own, and keeps what it
    remembers in its object.
    """

    def on_ack(self, ack: ControlAck, window: ControlWindow) -> None:
        """Set ``window.cwnd`` and ``window.ssthresh``, in packets, at an ACK that allows the window to grow."""

    def on_loss(self, loss: ControlLoss) -> int:
        """Return ssthresh in packets, to which the recovery from a loss, or a mark, brings the window."""

    def on_timeout(self, loss: ControlLoss) -> int:
        """Return ssthresh in packets after an RTO, which sets the window to one packet (RFC 5681, section 3.1)."""


if TYPE_CHECKING:
    #: A class, or a function, that makes the control of a connection.
    ControlClass = Callable[[], Control]
    #: For all flows over TCP, or by the name of flows.
    Controls = Union[ControlClass, Mapping[str, ControlClass]]


def by_flow(controls: Controls, scenario: Scenario) -> dict[str, ControlClass]:
    """Return the class for each name of flows."""
    named = dict(controls) if isinstance(controls, Mapping) else dict.fromkeys(scenario.tcp_flows, controls)
    for name, control in named.items():
        if not callable(control):
            msg = f"controls: flows `{name}` need a class or a function that makes controls, not {control!r}"
            raise TypeError(msg)
    return named

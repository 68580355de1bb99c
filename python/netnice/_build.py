# SPDX-License-Identifier: MIT OR Apache-2.0
"""Parts of a scenario that is built in Python."""

from __future__ import annotations

from typing import Any


def node(name: str, **fields: Any) -> dict[str, Any]:
    """Return a group of hosts for ``Scenario(nodes=[...])``; ``count`` is the number of hosts."""
    return {"name": name, **fields}


def link(from_: str, to: str, **fields: Any) -> dict[str, Any]:
    """Return a link for ``Scenario(links=[...])``.

    Fields are those of a scenario file, texts with units: ``rate="10mbit"``, ``delay="20ms"``, ``queue="2.5bdp"``,
    ``loss="0.1%"``, ``name="bottleneck"``.
    """
    return {"from": from_, "to": to, **fields}


def flow(name: str, from_: str, to: str, **fields: Any) -> dict[str, Any]:
    """Return traffic for ``Scenario(flows=[...])``.

    Fields are those of a scenario file: ``congestion_control="cubic"``, ``count=2``, ``start="10s"``,
    ``**{"class": "low"}``.
    """
    return {"name": name, "from": from_, "to": to, **fields}

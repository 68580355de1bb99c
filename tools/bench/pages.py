# SPDX-License-Identifier: MIT OR Apache-2.0
"""Parts of pages of the documentation that scripts write."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
END = "<!-- to here -->\n"


def write(page: str, command: str, part: str, check: bool) -> None:
    """Write the part of a page that a command makes; with `check` exit if the page has another part."""
    file, begin = ROOT / page, f"<!-- {command} writes from here -->\n"
    before, _, rest = file.read_text().partition(begin)
    text = f"{before}{begin}\n{part}\n\n{END}{rest.partition(END)[2]}"
    if not check:
        file.write_text(text)
    elif text != file.read_text():
        sys.exit(f"{page} is not that of its data: run {command}")

# SPDX-License-Identifier: MIT OR Apache-2.0
"""The tutorial, executed and type-checked as it is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import nbclient
import nbformat

TUTORIAL = Path(__file__).parents[1] / "tutorial" / "tutorial.ipynb"


def test_the_tutorial_runs(tmp_path: Path) -> None:
    notebook = nbformat.read(TUTORIAL, as_version=4)
    resources = {"metadata": {"path": str(TUTORIAL.parent)}}
    nbclient.NotebookClient(notebook, timeout=120, resources=resources).execute()
    outputs = [output for cell in notebook.cells if cell.cell_type == "code" for output in cell.outputs]
    figures = [output for output in outputs if "image/png" in output.get("data", {})]
    assert len(figures) >= 5
    # Outputs are made anew by each reader; none are kept.
    kept = nbformat.read(TUTORIAL, as_version=4)
    assert not any(cell.outputs for cell in kept.cells if cell.cell_type == "code")


def test_the_tutorial_passes_mypy(tmp_path: Path) -> None:
    notebook = nbformat.read(TUTORIAL, as_version=4)
    program = tmp_path / "tutorial.py"
    program.write_text("\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code"))
    options = ["--strict", "--cache-dir", str(tmp_path / "cache"), "--follow-imports", "silent"]
    command = [sys.executable, "-m", "mypy", *options, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stdout

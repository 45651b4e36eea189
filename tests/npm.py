"""The npm package behind the renderer hf-jinja, where tests find it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from templatelint.renderers import hf_jinja
from templatelint.renderers.hf_jinja import installed

# where .ci/run puts it
_NODE_MODULES = Path(__file__).resolve().parent.parent / ".node" / "node_modules"
if _NODE_MODULES.is_dir():
    os.environ.setdefault(installed.NODE_MODULES, str(_NODE_MODULES))


def _node_runs() -> bool:
    if (program := installed.node()) is None:
        return False
    try:
        return subprocess.run([program, "--version"], check=False, capture_output=True, timeout=5).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


_LACK = hf_jinja.missing()
needs_package = pytest.mark.skipif(_LACK is not None, reason=f"hf-jinja cannot run here: {_LACK}")
needs_node = pytest.mark.skipif(not _node_runs(), reason="no node on PATH that runs")

"""The npm package behind the renderer hf-jinja, where tests find it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from templatelint.renderers.hf_jinja import installed

# where .ci/run puts it
_NODE_MODULES = Path(__file__).resolve().parent.parent / ".node" / "node_modules"
if _NODE_MODULES.is_dir():
    os.environ.setdefault(installed.NODE_MODULES, str(_NODE_MODULES))

_LACK = installed.missing()
needs_package = pytest.mark.skipif(_LACK is not None, reason=f"hf-jinja cannot run here: {_LACK}")
needs_node = pytest.mark.skipif(installed.node() is None, reason="node is not on PATH")

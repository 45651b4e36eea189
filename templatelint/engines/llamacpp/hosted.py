"""Run as a file in a process of its own: `hosted.py GGUF PORT` → the llama-server of the xllamacpp wheel.

It ends when its standard input does, so that it never outlives who started it.
"""

from __future__ import annotations

import os
import sys


def main(gguf: str, port: int) -> None:
    """Serve the model until standard input ends; raises RuntimeError where the server does not start."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = gguf
    if hasattr(params, "hostnames"):
        params.hostnames = ["127.0.0.1"]
    else:  # the wheels before October 2026
        params.hostname = "127.0.0.1"
    params.port = port
    params.n_ctx = 512
    params.n_parallel = 1
    params.warmup = False
    if hasattr(params, "preserve_reasoning_specified"):
        # llama-server sets it where it reads its command line, which the wheel has not
        params.default_template_kwargs = {"preserve_reasoning": "true"}
    server = xllamacpp.Server(params)
    sys.stdin.buffer.read()
    del server
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

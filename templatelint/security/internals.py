"""Names by which a template leaves the data that it is given: internals of Python, modules, what runs things."""

from __future__ import annotations

import re

# Without an underscore, yet on the way to a frame, a module or a class (jinja2's own sandbox refuses most of them).
# fmt: off (packed as prose is)
_ATTRIBUTES = frozenset(
    [
        "mro",
        "gi_frame",
        "gi_code",
        "gi_yieldfrom",
        "cr_frame",
        "cr_code",
        "cr_await",
        "cr_origin",
        "ag_frame",
        "ag_code",
        "ag_await",
        "f_back",
        "f_builtins",
        "f_code",
        "f_globals",
        "f_locals",
        "f_trace",
        "tb_frame",
        "tb_next",
        "func_globals",
        "func_code",
        "func_defaults",
        "func_closure",
        "func_dict",
        "im_func",
        "im_self",
        "im_class",
        "co_code",
        "co_consts",
        "co_names",
    ]
)
# fmt: on
# Called on anything, these run a program, read a file or import a module; no datum has such a method.
# fmt: off (packed as prose is)
METHODS = frozenset(
    [
        "popen",
        "system",
        "check_output",
        "check_call",
        "getoutput",
        "getstatusoutput",
        "Popen",
        "import_module",
        "load_module",
        "exec_module",
        "execfile",
        "execv",
        "execve",
        "execvp",
        "spawnl",
        "spawnv",
        "fork_exec",
        "urlopen",
        "urlretrieve",
        "read_text",
        "write_text",
        "read_bytes",
        "write_bytes",
        "create_connection",
        "CDLL",
    ]
)
# fmt: on
# Not set by any renderer of chat templates; a template that calls one hopes for a renderer that does.
# fmt: off (packed as prose is)
CALLED = frozenset(
    [
        "__import__",
        "eval",
        "exec",
        "execfile",
        "open",
        "compile",
        "getattr",
        "setattr",
        "delattr",
        "globals",
        "locals",
        "vars",
        "breakpoint",
        "input",
        "import_module",
        "popen",
        "system",
        "get_flashed_messages",
        "url_for",
    ]
)
# fmt: on
# fmt: off (packed as prose is)
MODULES = frozenset(
    [
        "os",
        "sys",
        "subprocess",
        "shutil",
        "socket",
        "builtins",
        "importlib",
        "ctypes",
        "pickle",
        "marshal",
        "pty",
        "platform",
        "pathlib",
        "tempfile",
        "codecs",
        "posix",
        "nt",
        "commands",
        "requests",
        "urllib",
        "httpx",
        "asyncio",
        "threading",
        "multiprocessing",
    ]
)
# fmt: on
_DUNDER = re.compile(r"__\w+__")


def internal(name: str) -> bool:
    """Whether an attribute of that name is part of Python's object system, whatever it is asked of."""
    return name in _ATTRIBUTES or _DUNDER.fullmatch(name) is not None or name.startswith("_TemplateReference__")


def hidden(name: str) -> bool:
    """Whether only objects have attributes of that name; keys of data may be called so."""
    return name.startswith("_")

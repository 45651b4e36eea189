"""The flags of a llama-server → where they take from its template, and what they open to others (b11549)."""

from __future__ import annotations

import ipaddress
import json
import re
from typing import TYPE_CHECKING

from templatelint.audit.command_line import CommandLine, read
from templatelint.audit.fault import LAUNCH, TOOLS, LaunchFault
from templatelint.errors import clip
from templatelint.passages import mention

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from templatelint.audit.fault import Started

# common/arg.cpp: names of the flags; which take a value
_TEMPLATE, _TEMPLATE_FILE = "--chat-template", "--chat-template-file"
_FORMAT, _KWARGS = "--reasoning-format", "--chat-template-kwargs"
_REASONING = ("--reasoning", "-rea")
_BUDGET = "--reasoning-budget"
_TOOLS, _RUNTIME = "--tools", "--tools-runtime"
_MCP = ("--mcp-servers-config", "--mcp-servers-json")
_AGENT, _NO_AGENT = ("--agent", "-ag"), ("--no-agent", "-no-ag")
_PROXY, _NO_PROXY = (
    ("--ui-mcp-proxy", "--webui-mcp-proxy"),
    ("--no-ui-mcp-proxy", "--no-webui-mcp-proxy"),
)
_HOST = "--host"
_KEYS = ("--api-key", "--api-key-file")
_VALUED = frozenset(
    {
        _TEMPLATE,
        _TEMPLATE_FILE,
        _FORMAT,
        _KWARGS,
        *_REASONING,
        _BUDGET,
        _TOOLS,
        _RUNTIME,
        *_MCP,
        _HOST,
        *_KEYS,
    }
)
# common/common.h: hostnames
_DEFAULT_HOST = "127.0.0.1"
_OFF = frozenset({"off", "disabled", "false", "0"})  # common_arg_utils::is_falsey
# variables that llama.cpp reads itself (oaicompat_chat_params_parse, common_chat_template_direct_apply_impl)
_OWN = frozenset({"enable_thinking", "preserve_reasoning", "reasoning_effort"})
_ALL = "all"
# tools/server/server-tools.cpp: build_tools
_BUILT_IN = "read_file, file_glob_search, grep_search, exec_shell_command, write_file, edit_file, get_info"
_SHOWN = frozenset({"shown", "some", "with system only"})
_MAX = 120  # characters of a value in a message
_ADDRESS = re.compile(r"//(?:[^/?#@]*@)?(\[[^\]]*\]|[^/?#:]*)")


def faults(started: Started) -> Iterator[LaunchFault]:
    """What is wrong, flag by flag."""
    arguments = started.launch.arguments
    line = read(arguments, _VALUED) if arguments is not None else None
    if line is not None:
        jinja = line.switched(("--jinja",), ("--no-jinja",)) is not False
        yield from _engine(started, line, jinja=jinja)
        if jinja:
            yield from _parsing(started, line)
            yield from _thinking(started, line)
            yield from _variables(started, line)
    yield from _opened(started, line)


def gaps(started: Started) -> tuple[tuple[str, str], ...]:
    """Rule and reason of what cannot be judged."""
    if started.launch.arguments is not None:
        return ()
    why = "the command line of llama-server cannot be read: it tells it to a router's clients, and to its own machine"
    rules = (LAUNCH,) if _listed(started) is not None else (LAUNCH, TOOLS)
    return tuple((rule, why) for rule in rules)


# ------------------------------------------------------------------------------------------- the template


def _engine(started: Started, line: CommandLine, *, jinja: bool) -> Iterator[LaunchFault]:
    """Which template is in force, and whether Jinja renders it."""
    given = line.last(_TEMPLATE, _TEMPLATE_FILE)  # both set params.chat_template, which an empty file leaves empty
    if not jinja:
        # oaicompat_chat_params_parse refuses tools; llama_chat_apply_template knows formats by their marks
        offers = started.tools in _SHOWN or bool(started.dialect)
        yield LaunchFault(
            "--no-jinja: the template is not rendered, prompts are those of a built-in format that llama.cpp takes it"
            + (" for, and every request with tools fails" if offers else " for"),
            "start llama-server without --no-jinja",
            "no-jinja",
            need="tools" if offers else "chat",
            impact="breaks" if offers else "degrades",
        )
    if given is None or not given[1]:
        return
    flag, value = given
    if flag == _TEMPLATE_FILE:
        yield _in_force(f"{flag} {clip(value, _MAX)}")
    elif "{" in value:
        yield _in_force(f"{flag} with a template of its own")
    elif value == "chatml":  # common_chat_templates_init
        yield LaunchFault(
            f"{flag} chatml: plain ChatML, which shows no tools, is in force in place of the model's own template",
            f"leave {flag} out, or give a file of the model's template to {_TEMPLATE_FILE}",
            "chat-template",
        )
    elif jinja and value:
        # common_chat_templates_init takes it for the text of a template, and common_chat_verify_template renders that
        yield LaunchFault(
            f"{flag} {clip(value, _MAX)}: where Jinja renders, this names no built-in format: every prompt is the text"
            f" {clip(value, _MAX)}",
            f"leave {flag} out, or give a file of the model's template to {_TEMPLATE_FILE}",
            "chat-template",
            need="chat",
            impact="breaks",
        )


def _in_force(flag: str) -> LaunchFault:
    return LaunchFault(
        f"{flag} is in force in place of the template of the model file",
        "pin it (templatelint pin), and hold it against the model's own now and then (templatelint diff)",
        "chat-template",
        need="chat",
        impact="informs",
    )


def _variables(started: Started, line: CommandLine) -> Iterator[LaunchFault]:
    """What is given to every render, and read by none."""
    try:
        given = json.loads(line.value(_KWARGS) or "{}")
    except (ValueError, RecursionError):
        return  # llama-server does not start with it: this is not how it was started
    for name in given if isinstance(given, dict) else ():
        if name not in _OWN and started.source and mention(started.source, name) is None:
            yield LaunchFault(
                f"{_KWARGS}: the template reads no {clip(name)}",
                "leave it out, or see which variables the template has (templatelint inspect)",
                f"variable {name}",
                need="chat",
                impact="informs",
            )


# ------------------------------------------------------------------------------------------- the replies


def _parsing(started: Started, line: CommandLine) -> Iterator[LaunchFault]:
    """Who reads calls and thoughts back."""
    marks = started.syntax.reasoning if started.syntax is not None else None
    if line.switched(("--skip-chat-parsing",), ("--no-skip-chat-parsing",)):
        # `force_pure_content` of common/chat.cpp
        if started.dialect or started.tools in _SHOWN:
            yield LaunchFault(
                "--skip-chat-parsing: calls stay in the text of the reply"
                + (f", written in {started.dialect}" if started.dialect else ""),
                "start llama-server without it, or read replies in the client (templatelint parse)",
                "skip-chat-parsing",
                impact="breaks",
            )
        if marks is not None:
            yield _unsplit("--skip-chat-parsing", marks.start)
    elif line.value(_FORMAT) == "none" and marks is not None:
        yield _unsplit(f"{_FORMAT} none", marks.start)


def _unsplit(flag: str, mark: str) -> LaunchFault:
    return LaunchFault(
        f"{flag}: thoughts stay in the content, behind {clip(mark.strip())}",
        "start llama-server without it, or cut thoughts off in the client (templatelint parse)",
        "thoughts",
        need="reasoning",
    )


def _thinking(started: Started, line: CommandLine) -> Iterator[LaunchFault]:
    """Switches of thinking that a template has not."""
    if started.syntax is None:
        return
    value = line.value(*_REASONING)
    if value is not None and value in _OFF and started.switches == () and started.syntax.reasoning is not None:
        yield LaunchFault(
            f"--reasoning {value}: the template has no switch, prompts are the same with thinking and without",
            "leave it out; cut thoughts off in the client where they are not wanted",
            "reasoning",
            need="reasoning",
        )
    budget = line.value(_BUDGET)
    if budget not in (None, "-1") and started.syntax.reasoning is None and started.model.templates:
        # oaicompat_chat_params_parse hands it on only where the template's thoughts have an end
        yield LaunchFault(
            f"{_BUDGET} {clip(str(budget))}: the template has no marks of thoughts, nothing is counted",
            "leave it out",
            "budget",
            need="reasoning",
            impact="informs",
        )


# ---------------------------------------------------------------------------------------- what is open to others


def _listed(started: Started) -> object:
    """What `GET /tools` answered, where somebody asked."""
    return started.setting("tools")


def _opened(started: Started, line: CommandLine | None) -> Iterator[LaunchFault]:
    """Tools that the server itself runs for whoever asks: `POST /tools` takes no model and no template."""
    open_to = _open_to(started, line)
    # a key that is in no flag we see (a router's, `LLAMA_API_KEY`) is one that we were asked for: `/props` wants it too
    keyed = started.keyed or (line is not None and any(line.value(name) for name in _KEYS))
    exposed = bool(open_to) and not keyed
    for flag, what, cause in _doors(started, line):
        who = f"anyone who reaches {open_to}" if exposed else "whoever reaches its port"
        key = "" if keyed else ", without a key"
        yield LaunchFault(
            f"{flag}: {who} has the server {what}{key}",
            "start llama-server without it: function calling needs none of it"
            + ("" if keyed else "; where it is meant, set --api-key and --host 127.0.0.1"),
            cause,
            rule=TOOLS,
            impact="breaks" if exposed else None,
        )


def _doors(started: Started, line: CommandLine | None) -> Iterator[tuple[str, str, str]]:
    """Flag, what it lets others do, and which door that is."""
    flag, names = _switched_on(line) if line is not None else ("", ())
    listed = [row for row in seen if isinstance(row, dict)] if isinstance(seen := _listed(started), list) else []
    if not flag and listed:
        told = [name for row in listed if isinstance(name := row.get("tool") or row.get("name"), str)]
        flag, names = "GET /tools answers", tuple(told)
    if flag:
        runtime = line.value(_RUNTIME) if line is not None else None
        where = f" in {clip(runtime, _MAX)}" if runtime else ""
        tools = _BUILT_IN if _ALL in names or not names else clip(", ".join(names), _MAX)
        yield flag, f"run {tools}{where}", "tools"
    if line is None:
        if started.setting("cors_proxy_enabled") is True:
            yield "the CORS proxy is on", "fetch addresses for them", "proxy"
        return
    for name in _MCP:
        if line.value(name):
            yield name, "use the tools of its MCP servers", "mcp"
    proxy = line.last(*_PROXY, *_AGENT, *_NO_PROXY, *_NO_AGENT)
    if proxy is not None and proxy[0] in {*_PROXY, *_AGENT}:
        yield proxy[0], "fetch addresses for them", "proxy"


def _switched_on(line: CommandLine) -> tuple[str, Sequence[str]]:
    """The flag that has switched built-in tools on at the end, and their names."""
    flag = ""
    names: tuple[str, ...] = ()
    for name, value in line.flags:
        if name == _TOOLS:
            names = tuple(word.strip() for word in (value or "").split(",") if word.strip())
            flag = f"{_TOOLS} {clip(value or '', _MAX)}"
        elif name in _AGENT:
            flag, names = name, (_ALL,)
        elif name in _NO_AGENT:
            names = ()
    return (flag, names) if names else ("", ())


def _open_to(started: Started, line: CommandLine | None) -> str:
    """An address under which others reach it; empty where none is known."""
    given = line.value(_HOST) if line is not None else None
    hosts = [host.strip() for host in (given or _DEFAULT_HOST).split(",")]
    # a router's child listens on loopback, and is reached through the router
    found = _ADDRESS.search(started.model.ref)
    hosts += [found[1]] if found else []
    return next((host for host in hosts if host and not _is_own(host)), "")


def _is_own(host: str) -> bool:
    """Whether only this machine reaches it."""
    if host == "localhost" or host.endswith(".sock"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False

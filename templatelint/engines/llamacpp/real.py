"""Requests → prompts as a llama-server on this machine gives them, started with a tiny model of the template."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from templatelint.engines import Answers
from templatelint.errors import TemplatelintError, clip
from templatelint.model import Observation, RenderError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractContextManager

    from templatelint.engines.llamacpp.server import NoAnswer, NotReady, Server
    from templatelint.model import Model, Request

INSTALL = "pip install 'templatelint[llamacpp]'"
_PROGRAM, _PACKAGE = "llama-server", "xllamacpp"
_UNKNOWN = "b0-unknown"  # what a build says that was made without the history of llama.cpp
_PLAIN = "{% for message in messages %}{{ message.content }}{% endfor %}"
_PLAIN_START = 5.0  # seconds; a hundredth of it is usual
_LOST = 3  # servers that the requests of one model may cost
_SHOWN = 200  # characters of a log in a message


def found() -> str | None:
    """What can be asked here: the path of llama-server, else the package's name; None where neither is there."""
    program = shutil.which(_PROGRAM)
    if program is not None:
        return str(Path(program).absolute())
    return _PACKAGE if find_spec(_PACKAGE) is not None else None


def real() -> RealLlamaCpp:
    """The llama.cpp of this machine.

    Raises:
        TemplatelintError: there is none.
    """
    place = found()
    if place is None:
        raise TemplatelintError(
            f"no real llama.cpp here: neither {_PROGRAM} on PATH nor the {_PACKAGE} package", help=INSTALL
        )
    return RealLlamaCpp(place)


@dataclass
class RealLlamaCpp:
    """The llama.cpp at a place: the path of a llama-server, or the name of the package.

    Attributes:
        start, request: seconds that the start of a server, and one request, may take.
        build: what answered, for people; empty before a server has started.
    """

    place: str
    start: float = 20.0
    request: float = 10.0
    build: str = field(default="", init=False)
    _started: bool = field(default=False, init=False)

    def answers(self, model: Model, requests: Sequence[Request]) -> Answers:
        """What the server gives for the requests, started with the templates and special tokens of the model.

        Raises:
            TemplatelintError: it does not start whatever the template, or what answers is no llama-server.
        """
        from templatelint.engines.llamacpp.facts import load
        from templatelint.engines.llamacpp.loaded import Ends
        from templatelint.engines.llamacpp.server import NoAnswer, NotReady
        from templatelint.engines.llamacpp.tiny_gguf import write

        gguf = write(_served(model), Ends.of(model.tokenizer, load()))
        done: list[Observation] = []
        capabilities: Mapping[str, bool] | None = None
        lost = 0
        while len(done) < len(requests) and lost < _LOST:
            try:
                with self._serving(gguf, self.start) as server:
                    capabilities = self._properties(server)
                    while len(done) < len(requests):
                        done.append(self._answer(server, requests[len(done)]))
            except NotReady as trouble:
                if _bound_elsewhere(trouble) and lost == 0:
                    lost += 1
                    continue
                refused = Observation(error=self._refusal(trouble))
                done += [refused] * (len(requests) - len(done))
            except NoAnswer as trouble:
                lost += 1
                done.append(Observation(error=self._failure(trouble)))
        given_up = Observation(error=RenderError("timeout", f"not tried: {lost} requests before cost a server each"))
        done += [given_up] * (len(requests) - len(done))
        return Answers(self.build, done, capabilities)

    # ------------------------------------------------------------------------------------------ the program

    def _serving(self, gguf: bytes, start: float) -> AbstractContextManager[Server]:
        from templatelint.engines.llamacpp.server import Bounds, serving

        return serving(self._command, gguf, Bounds(start, self.request))

    def _command(self, gguf: Path, port: int) -> Sequence[str]:
        if self.place == _PACKAGE:
            # -P: what lies beside that file, or in the current folder, is not what it imports
            return (sys.executable, "-P", str(Path(__file__).with_name("hosted.py")), str(gguf), str(port))
        options = {"--model": gguf, "--host": "127.0.0.1", "--port": port, "--ctx-size": 512, "--parallel": 1}
        words = (str(word) for option in options.items() for word in option)
        return (self.place, *words, "--jinja", "--no-warmup")

    def _properties(self, server: Server) -> Mapping[str, bool]:
        """Learn from `/props` which build it is, and give what it says that the template supports."""
        from templatelint.engines.llamacpp.server import NoAnswer

        try:
            reply = server.ask("GET", "/props")
        except NoAnswer as trouble:
            raise self._useless(f"gives no answer to GET /props{_last_word(trouble.log)}") from trouble
        if not isinstance(reply.body, dict) or "chat_template" not in reply.body:
            from templatelint.engines.llamacpp.replies import glimpse

            raise self._useless(f"is no llama-server: its answer to GET /props is {glimpse(reply)}")
        self._started = True
        self.build = self._named(reply.body.get("build_info"))
        capabilities = reply.body.get("chat_template_caps")
        return capabilities if isinstance(capabilities, dict) else {}

    def _named(self, build: Any) -> str:
        """`llama.cpp b11549 (xllamacpp 2026.10.11549)`."""
        shown = build if isinstance(build, str) and build != _UNKNOWN else ""
        if self.place == _PACKAGE:
            version = _version()
            shown = shown or "b" + version.rpartition(".")[2]  # the wheels are numbered by the build that they hold
            return f"llama.cpp {shown} ({_PACKAGE} {version})"
        return f"llama.cpp {shown or 'of unknown build'} ({self.place})"

    def _answer(self, server: Server, request: Request) -> Observation:
        from templatelint.engines.llamacpp.replies import NotLlamaCpp, observation

        if request.media and _holds_media(request):
            return Observation(
                error=RenderError("unsupported", "the model that --real makes has no multimodal projector")
            )
        try:
            return observation(server.ask("POST", "/apply-template", body(request)))
        except NotLlamaCpp as trouble:
            raise self._useless(f"gives no prompt: its answer to POST /apply-template is {trouble}") from trouble

    # ----------------------------------------------------------------------------------------- what goes wrong

    def _refusal(self, trouble: NotReady) -> RenderError:
        """Why it does not start with the template; raises where it starts with none."""
        from templatelint.engines.llamacpp.replies import refusal
        from templatelint.engines.llamacpp.server import complaint

        if not self._started:
            self._prove(trouble)
        if trouble.late:
            return RenderError("timeout", f"llama-server is not ready after {self.start:g} s")
        return refusal(complaint(trouble.log))

    def _prove(self, trouble: NotReady) -> None:
        """Return where it starts with a template that no server refuses: then it is the model's that ended it."""
        from templatelint.engines.llamacpp.loaded import Ends
        from templatelint.engines.llamacpp.server import NotReady, complaint
        from templatelint.engines.llamacpp.tiny_gguf import write

        try:
            with self._serving(write({"default": _PLAIN}, Ends()), min(self.start, _PLAIN_START)) as server:
                self._properties(server)
        except NotReady as again:
            if trouble.late:
                raise self._useless(f"is not ready after {self.start:g} s{_last_word(trouble.log)}") from again
            reason = complaint(again.log)
            raise self._useless(f"ends at start{': ' if reason else ''}{clip(reason, _SHOWN)}") from again

    def _failure(self, trouble: NoAnswer) -> RenderError:
        """A request that took the server with it."""
        if trouble.late:
            return RenderError("timeout", f"no answer of llama-server within {self.request:g} s")
        return RenderError("raised", f"llama-server ends while it answers{_last_word(trouble.log)}")

    def _useless(self, fact: str) -> TemplatelintError:
        if self.place == _PACKAGE:
            return TemplatelintError(f"the server of {_PACKAGE} {_version()} {fact}", help=f"try another: {INSTALL}")
        return TemplatelintError(f"{self.place} {fact}", help="put a working llama-server first on PATH, or take none")


def body(request: Request) -> dict[str, Any]:
    """The request as a chat-completions body; what is the server's default anyway is left out."""
    members: dict[str, Any] = {**request.extra, "messages": request.messages}
    if request.tools is not None:
        members["tools"] = request.tools
    if request.documents is not None:
        members["documents"] = request.documents
    if request.variables:
        members["chat_template_kwargs"] = request.variables
    if not request.add_generation_prompt:
        members["add_generation_prompt"] = False
    if request.continue_final_message:
        members["continue_final_message"] = request.continue_final_message
    return members


def _served(model: Model) -> dict[str, str]:
    """Name → source of the templates that go into the model: a picked one serves everything."""
    if model.picked and model.templates:
        return {"default": model.templates[0].source}
    return {template.name: template.source for template in model.templates}


def _holds_media(request: Request) -> bool:
    return any(
        isinstance(part, dict) and part.get("type") != "text"
        for message in request.messages
        if isinstance(content := message.get("content"), list)
        for part in content
    )


def _bound_elsewhere(trouble: NotReady) -> bool:
    """Somebody took the port after it was found free."""
    return not trouble.late and any("couldn't bind" in line for line in trouble.log)


def _last_word(log: Sequence[str]) -> str:
    line = next((line for line in reversed(log) if line), "")
    return f": {clip(line, _SHOWN)}" if line else ""


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(_PACKAGE)
    except PackageNotFoundError:
        return "of unknown version"

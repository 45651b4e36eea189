"""What an audit asks of a running server and its template, and what it says of a flag."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from templatelint.call_syntax import CallSyntax
    from templatelint.inspection import Inspection
    from templatelint.model import Impact, Launch, Model

LAUNCH, TOOLS = "TL705", "TL806"


@dataclass(frozen=True)
class LaunchFault:
    """A verdict on how a server was started.

    Attributes:
        message: the flag with its value, and what comes of it, in one clause.
        help: the cure.
        cause: what makes two faults of a rule the same one.
        need: overrides the card's.
        impact: overrides the card's.
    """

    message: str
    help: str
    cause: str
    rule: str = LAUNCH
    need: str = ""
    impact: Impact | None = None


@dataclass(frozen=True)
class Started:
    """A running server, and what its template shows on its engine.

    Attributes:
        tools: what becomes of definitions of tools: a word of `Capabilities.tools`.
        syntax: how the template writes calls and thoughts; None where nobody asked.
        switches: variables that turn thinking on and off; None where that is not known.
        advised: the flags with which the engine reads the replies.
        keyed: the server was asked with a key, or a password.
    """

    model: Model
    launch: Launch
    tools: str | None
    syntax: CallSyntax | None
    switches: tuple[str, ...] | None
    advised: tuple[str, ...]
    keyed: bool

    @staticmethod
    def of(model: Model, launch: Launch, known: Inspection) -> Started:
        """The server with what is known of its template."""
        from templatelint.sources.endpoint import KEYED, LOGIN

        engine = launch.engine
        facts = known.capabilities.get(engine)
        told = known.syntax.get(engine)
        if told is None or told.dialect is None:
            others = (*known.syntax.values(), *known.elsewhere.values())
            told = next((syntax for syntax in others if syntax.dialect is not None), told)
        flags = known.flags.get(engine)
        return Started(
            model,
            launch,
            facts.tools if facts is not None else None,
            told,
            facts.thinking_switch if facts is not None else None,
            flags.arguments if flags is not None else (),
            any(launch.settings.get(name) is True for name in (KEYED, LOGIN)),
        )

    @property
    def dialect(self) -> str:
        """The dialect of the template's calls; empty where it writes none, or no known one."""
        return (self.syntax.dialect or "") if self.syntax is not None else ""

    @property
    def path(self) -> str:
        """What findings give as the file."""
        templates = self.model.templates
        return templates[0].origin.path if templates else self.model.ref

    @property
    def source(self) -> str:
        """The texts of its templates."""
        return "\n".join(template.source for template in self.model.templates)

    def setting(self, name: str) -> Any:
        """What the server says of a setting, at the top or one level below; None where it says nothing."""
        settings = self.launch.settings
        tables = (
            settings,
            *(value for value in settings.values() if isinstance(value, dict)),
        )
        return next((table[name] for table in tables if table.get(name) is not None), None)

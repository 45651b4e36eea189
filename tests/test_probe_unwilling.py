from __future__ import annotations

import pytest
from live_server import LiveServer

from templatelint.probe import Options, catalogue, probe
from templatelint.sources.reach import Reach

CHECKS = catalogue.select(["all"])


# What the model says whatever it is asked, and how much it may say.
@pytest.mark.parametrize(
    ("script", "tokens"), [("plain", 512), ("long", 8), ("prose", 40), ("think", 16), ("unicode", 12), ("answer", 512)]
)
def test_a_model_that_does_as_it_pleases_is_no_fault_of_its_server(script: str, tokens: int) -> None:
    with LiveServer(kind="bare", choose=lambda *_: script) as live:
        probed = probe(live.url, CHECKS, Options(tokens=tokens), Reach(vetting=True))
    assert [(one.id, one.verdict.message) for one in probed.results if one.verdict.word == "fail"] == []
    assert probed.summary["inconclusive"] > 10
    assert probed.broken_off == ""


def test_two_runs_give_the_same_verdicts() -> None:
    with LiveServer() as live:
        quick = [check for check in catalogue.select(["core"]) if check.module != "cancelling"]
        first, second = (probe(live.url, quick, Options(), Reach(vetting=True)) for _ in range(2))
    assert [one.verdict.word for one in first.results] == [one.verdict.word for one in second.results]

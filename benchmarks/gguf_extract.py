"""The chat template and BOS of a GGUF with a large vocabulary: our header reader against gguf-py's GGUFReader."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from paired import compare, report

_RATIO = 1 / 15
_PEAK_MIB = 60

# The writer is a process of its own, since what a parent has resident counts as its children's peak. A reader that
# finds something else than was written ends with 2, which stops the comparison.
_WRITE = """
import sys
from gguf import GGUFWriter
writer = GGUFWriter(sys.argv[1], "llama")
writer.add_tokenizer_model("gpt2")
writer.add_tokenizer_pre("qwen2")
writer.add_token_list([f"\\u0120token{index}" for index in range(150_000)])
writer.add_token_types([1] * 150_000)
writer.add_token_merges([f"\\u0120to{index} ken{index}" for index in range(150_000)])
writer.add_bos_token_id(149_999)
writer.add_chat_template("{% for message in messages %}{{ message.content }}{% endfor %}")
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
"""

_OURS = """
import sys
from templatelint.sources import resolve
model = resolve(sys.argv[1])
"message.content" in model.templates[0].source or sys.exit(2)
model.tokenizer.special_tokens["bos_token"].endswith("token149999") or sys.exit(2)
"""

_THEIRS = """
import sys
from gguf import GGUFReader
fields = GGUFReader(sys.argv[1]).fields
bos = fields["tokenizer.ggml.bos_token_id"].contents()
"message.content" in fields["tokenizer.chat_template"].contents() or sys.exit(2)
fields["tokenizer.ggml.tokens"].contents(bos).endswith("token149999") or sys.exit(2)
"""


def main() -> bool:
    """Compare both readers on one file; whether ours keeps its budgets of time and memory."""
    with tempfile.TemporaryDirectory() as folder:
        model = str(Path(folder, "model.gguf"))
        subprocess.run([sys.executable, "-c", _WRITE, model], check=True)
        result = compare(
            [sys.executable, "-c", _OURS, model],
            [sys.executable, "-c", _THEIRS, model],
            rounds=3,
        )
    kept = report("GGUF extract, 150,000 tokens and merges", ("templatelint", "gguf-py"), result, _RATIO)
    lean = result.ours.peak_mib < _PEAK_MIB
    print(f"    {1 / result.ratio:.0f} × faster, peak {result.ours.peak_mib:.0f} MiB (budget {_PEAK_MIB} MiB)", end=" ")
    print("ok" if lean else "OVER BUDGET")
    return kept and lean


if __name__ == "__main__":
    sys.exit(not main())

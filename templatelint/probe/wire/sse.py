"""Bytes of an event stream, in any pieces → its frames, as the HTML standard's "server-sent events" cuts them.

A frame that has a name and no data is one too, as for OpenAI's SDK, which ends with an error there (3.57.0): the
standard drops it.
"""

from __future__ import annotations

from codecs import getincrementaldecoder


class Frames:
    """Feed it what comes; it gives the frames that are complete: (event, data), comments left out."""

    def __init__(self) -> None:
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._name = ""
        self._data: list[str] = []
        self._after_cr = False

    def feed(self, piece: bytes, *, last: bool = False) -> list[tuple[str, str]]:
        """The frames that end in this piece.

        Args:
            piece: what came, cut anywhere.
            last: nothing comes any more; a frame without its empty line is no frame then.
        """
        text = self._decoder.decode(piece, last)
        if self._after_cr and text.startswith("\n"):
            text = text[1:]
        if text:
            self._after_cr = text.endswith("\r")
        lines = (self._rest + text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._rest = lines.pop()
        found = []
        for line in lines:
            if line:
                self._take(line)
            elif self._data or self._name:
                found.append((self._name, "\n".join(self._data)))
                self._name, self._data = "", []
        return found

    @property
    def unfinished(self) -> bool:
        """Whether something stands behind the last empty line."""
        return bool(self._rest or self._data or self._name)

    def _take(self, line: str) -> None:
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
        elif field == "event":
            self._name = value

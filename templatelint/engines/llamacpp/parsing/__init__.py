"""A model's reply → what llama-server makes of it: content, reasoning and tool calls.

The server takes a generation prompt and what the model wrote behind it as one text of bytes, and reads it with a
grammar: `automatic` builds that from the analysis of a template, `handlers` holds those of the families that
llama.cpp knows. Both are functions over a `grammar.Cursor` that consume the text, and capture parts of it on the
way; `reply.read` runs one, and makes a `reply.Parsed` of what was captured.

A grammar: `def grammar(text: Cursor, setting: reply.Setting) -> None`, where

* `grammar.Contradiction` says that a byte stands where it cannot: the nearest alternative goes on elsewhere, and
  where there is none the whole request fails (`reply.NoMatch`);
* `grammar.TextEnded` says that the text ends, which no alternative catches: it ends the reading, and what was
  captured so far counts, but for what stands inside `Cursor.whole()`.

Captures are `with text.capture(reply.NAME): ...`; the kinds and what becomes of them are in `reply`. What a tool's
schema says about its arguments is in `parameters`.

`handlers.parse(name, reply, setting)`, with the name of a handler as in `b11549.toml`, and `automatic.parse(analysis,
reply, setting)`, for a template without one, give a `Parsed` or raise `reply.NoMatch`. Which of them serves a request,
and with what setting, is `round_trip.parse`.
"""

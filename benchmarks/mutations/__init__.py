"""Single edits to real templates, harmful and harmless, and which of them `lint` and `chatlint check` notice."""

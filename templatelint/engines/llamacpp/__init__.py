"""llama.cpp's server: requests → prompts, with all that it does to a template before it renders."""

BUILD = "b11549"
"""The build that is modelled."""

TOOL_USE = "tool_use"
"""The name of the template that serves requests with tools where a model has one."""

"""Answers of the chat-completions route → what clients make of them; calls that were left in the text."""

"""Answers of Anthropic's Messages API, plain and streamed → what clients make of them."""

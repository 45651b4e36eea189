"""Answers of the Responses API, plain and streamed → what clients make of them."""

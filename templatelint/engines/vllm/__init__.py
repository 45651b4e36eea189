"""vLLM 0.33.0: what its OpenAI server does to a request before transformers renders it."""

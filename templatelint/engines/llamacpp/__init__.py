"""llama.cpp's server: requests → prompts, with all that it does to a template before it renders."""

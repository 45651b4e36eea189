"""What a server tells of itself on its own routes: engine, version, template, context, prompts, what it works on."""

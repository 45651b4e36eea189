"""The linted template and the one in force → where they, or their prompts, differ; what they refuse."""

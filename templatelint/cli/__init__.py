"""The command line: one module a command, a group that knows them by name, and the exit codes."""

CLEAN, FINDINGS, NO_ANSWER, INTERRUPTED = 0, 1, 2, 130

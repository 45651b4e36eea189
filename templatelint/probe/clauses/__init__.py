"""The clauses: functions (endpoint) → verdict, a module a topic, named as in the catalogue."""

"""Lessons: courses in TOML files, the rules of their questions, and the verdicts on their steps."""

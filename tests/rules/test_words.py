"""The product's names and docstrings are in the field's words, as CONTRIBUTING's vocabulary has them."""

from __future__ import annotations

import ast

from tests.rules import words

# names that files, links, the browser's messages and the contract fix; none may be added
FIXED = {
    "mha_core/masks/rules.py": {"both", "either"},
    "mha_core/models/model.py": {"of"},
    "mha_core/pretrained/recorder.py": {"every"},
    "mha_core/show/widget.py": {"chosen"},
    "mha_core/training/events.py": {"longest"},
    "mha_core/training/recipe.py": {"vocabulary_of"},
}


def test_no_name_is_a_participle_a_pronoun_or_a_preposition() -> None:
    banned: dict[str, set[str]] = {}
    for finding in words.scan():
        if finding.rule in ("name", "of"):
            banned.setdefault(finding.file, set()).add(finding.text)
    assert banned == FIXED  # one that is renamed leaves the table


def test_docstrings_open_with_a_verb_or_a_noun_phrase_in_at_most_twenty_words() -> None:
    failures = [finding for finding in words.scan() if finding.rule in ("opener", "length")]
    assert failures == []


def test_banned_names_and_openers_are_found() -> None:
    source = '"""What is asked."""\ndef of_link(told, n):\n    """Return the rows."""\n    found = n\n'
    findings = list(words.findings(ast.parse(source), "asked.py"))
    assert [(finding.rule, finding.text) for finding in findings] == [
        ("name", "asked"),
        ("of", "of_link"),
        ("name", "told"),
        ("name", "found"),
        ("opener", "What is asked."),
    ]
    long = ast.parse(f'"""Return {"many " * 20}rows."""')
    assert [finding.rule for finding in words.findings(long, "rows.py")] == ["length"]

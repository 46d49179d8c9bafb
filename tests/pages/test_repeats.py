"""The sentence on the rows of a repeated word: it changes with the weights."""

from __future__ import annotations

import torch

from headlight.picture import words

TOKENS = ["[CLS]", "can", "you", "can", "[SEP]"]


def test_rows_that_differ_say_by_how_much_and_where_they_look() -> None:
    weights, same = torch.full((5, 5), 0.2), "The rows of “can” (at 1 and 3) are the same up to rounding"
    assert words.describe_repeats(TOKENS, weights) == f"{same} (largest difference 0)."
    weights[3, 0] += 1e-7  # 0 on one processor is rounding on another
    assert words.describe_repeats(TOKENS, weights).startswith(f"{same} (largest difference 1.0e−7")
    weights[3] = torch.tensor([0.1, 0.1, 0.6, 0.1, 0.1])
    sentence = words.describe_repeats(TOKENS, weights)
    assert "differ by up to 0.400: the one at 1 attends most to “[CLS]” at 0 (0.20)" in sentence
    assert sentence.endswith("the one at 3 attends most to “you” at 2 (0.60).")
    assert words.describe_repeats(["a", "b"], torch.eye(2)) == "", "no word occurs twice"

"""MiniLM on two sentences that differ in one word: the numbers of the default screen, and altered positions."""

import pytest

from mha_core import Model, Run
from mha_core.errors import PositionError
from mha_core.measure.measures import largest_difference, previous_token_weight
from tests.closeness import identical, quoted, same_function

from .conftest import TIRED, WIDE

pytestmark = pytest.mark.numeric


@pytest.fixture(scope="module")
def bag(minilm64: Model) -> Run:
    """The sentence with the positions taken away."""
    return minilm64.run(TIRED, position="none")


@pytest.mark.parametrize(
    ("text", "position", "key", "weight"),
    [
        (TIRED, "trained", "animal", "0.64"),
        (TIRED, "trained", "street", "0.05"),
        (WIDE, "trained", "animal", "0.27"),
        (WIDE, "trained", "street", "0.13"),
        (TIRED, "none", "animal", "0.04"),
    ],
)
def test_focus_of_it_depends_on_text_and_positions(
    minilm: Model, text: str, position: str, key: str, weight: str
) -> None:
    """In layer 3, head 1: the animal that is tired, less so where it is wide, and nothing without positions."""
    run = minilm.run(text, position=position)
    quoted(float(run.weights[3, 1, run.tokens.index("it"), run.tokens.index(key)]), weight)


def test_layer_0_head_2_attends_to_the_previous_token(minilm: Model, bag: Run) -> None:
    quoted(previous_token_weight(minilm.run(TIRED).weights[0, 2]), "0.9998")
    quoted(previous_token_weight(bag.weights[0, 2]), "0.109")


def test_altered_positions_of_the_model(minilm64: Model, bag: Run) -> None:
    trained = minilm64.run(TIRED)
    identical(minilm64.run(TIRED, position="scaled:1").weights, trained.weights)
    same_function(minilm64.run(TIRED, position="scaled:0").weights, bag.weights)
    for name in ("shuffled", "scaled:0.5", "scaled:2"):
        assert largest_difference(minilm64.run(TIRED, position=name).weights, trained.weights) > 0.1
    identical(minilm64.run(TIRED).weights, trained.weights)
    for wrong in ("scaled:", "scaled:x", "scaled:nan", "scaled:1:2"):
        with pytest.raises(PositionError, match="is not known"):
            minilm64.run("how are you", position=wrong)

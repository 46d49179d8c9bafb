"""The accuracy that is possible without word order, to stand beside the curves; computed once for all visitors."""

from cachetools import LRUCache
from cachetools.keys import hashkey

from mha_core.training import bag_of_words
from mha_core.training.recipe import Recipe
from mha_core.training.tasks import Labelled
from pages.kit.picture.sharing import heavy, shared


def name(accuracy: float) -> str:
    return f"bag of words {accuracy:.3f}"


def of_task(task: Labelled, recipe: Recipe) -> float:
    """The accuracy of softmax regression on how often each token occurs, on the task's test rows.

    Raises:
        HeadlightError: the vocabulary is too small, or too many wait for their computations.
    """
    return heavy(_accuracy, task, recipe)


@shared(LRUCache(32), lambda task, recipe: hashkey(task.fingerprint, recipe.vocabulary, recipe.max_len))
def _accuracy(task: Labelled, recipe: Recipe) -> float:
    return bag_of_words.accuracy(task, recipe.vocabulary, recipe.max_len)

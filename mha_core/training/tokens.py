"""A tokenizer for each task, made of its training rows alone, or of all its texts where that is asked for."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ..errors import HeadlightError, SizeError
from ..models.vision import token_names
from .tasks import Labelled, Language, Pictures, Task, Translation

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Their place is their id; padding is 0, as an embedding's padding row wants it.
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
CUTS = ("Split", "Whitespace", "WhitespaceSplit")  # at characters, at words and signs, at spaces
MAX_OF_A_TASK = 2  # tokenizers that are kept

# Of a thousand long texts one takes seconds, and a comparison has a run for each seed and model. It goes with its task:
# the texts may be those of a visitor who leaves.
_made: WeakKeyDictionary[Labelled, dict[tuple[int, bool], Tokenizer]] = WeakKeyDictionary()


def of(task: Task, vocabulary: int = 1000, *, all_texts: bool = False) -> Tokenizer:
    """The task's tokenizer, without padding and truncation; the same in every process. Runs on one task share it.

    Args:
        task: labelled texts get a WordPiece as MiniLM's, trained on the training rows, with "[CLS]" and "[SEP]" round a
            text; a language task or a translation gets its own vocabulary, with nothing round a
            text; of pictures it names the patches.
        vocabulary: a WordPiece has at most so many tokens, special ones included.
        all_texts: it is trained on the test rows too, so that the model knows words that only they have.

    Raises:
        SizeError: that is no room for anything but special tokens.
    """
    if isinstance(task, Language):
        return _word_level(task.vocabulary, "WhitespaceSplit" if task.joined_by else "Split")
    if isinstance(task, Translation):
        return _word_level(task.vocabulary, "Whitespace")
    if isinstance(task, Pictures):
        return _word_level(token_names(task.side, task.patch, task.registers), "WhitespaceSplit")
    if vocabulary < len(SPECIAL) + 2:
        raise SizeError(f"a vocabulary of {vocabulary} is too small; choose {len(SPECIAL) + 2} or more")
    made, key = _made.setdefault(task, {}), (vocabulary, all_texts)
    if key not in made:
        rows = (*task.train, *task.test) if all_texts else task.train
        made[key] = _word_piece([row.text for row in rows], vocabulary)
        for earlier in list(made)[:-MAX_OF_A_TASK]:
            made.pop(earlier, None)
    return made[key]


def of_file(text: str) -> Tokenizer:
    """The tokenizer of a file that one of these wrote, made anew from its vocabulary.

    Nothing else of the file is used: with a stranger's expressions a text could keep the server busy for ever.

    Raises:
        HeadlightError: no tokenizer of `of` writes such a file.
    """
    try:
        content = json.loads(text)
        numbers: dict[str, int] = content["model"]["vocab"]
        kinds = (content["model"]["type"], content["pre_tokenizer"]["type"])
        vocabulary = tuple(sorted(numbers, key=numbers.__getitem__))
        if [numbers[token] for token in vocabulary] != list(range(len(numbers))):
            raise ValueError("its numbers have gaps")
        folded = kinds == ("WordPiece", "BertPreTokenizer") and content["normalizer"]["lowercase"] is True
        if folded and vocabulary[: len(SPECIAL)] == SPECIAL:
            return _with_specials(numbers)
        if kinds[0] == "WordLevel" and kinds[1] in CUTS:
            return _word_level(vocabulary, kinds[1])
        raise ValueError("it is of another kind")
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        what = error if type(error) is ValueError else type(error).__name__
        raise HeadlightError(f"this is no tokenizer of a trained model ({what})") from error


def _empty(numbers: dict[str, int]) -> Tokenizer:
    from tokenizers import Tokenizer, normalizers, pre_tokenizers
    from tokenizers.models import WordPiece

    tokenizer = Tokenizer(WordPiece(numbers, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def _with_specials(numbers: dict[str, int]) -> Tokenizer:
    from tokenizers import processors

    tokenizer = _empty(numbers)
    tokenizer.add_special_tokens(list(SPECIAL))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(name, SPECIAL.index(name)) for name in ("[CLS]", "[SEP]")]
    )
    return tokenizer


def _word_piece(texts: list[str], vocabulary: int) -> Tokenizer:
    from tokenizers.trainers import WordPieceTrainer

    trained: Any = _empty({})
    rows = [
        [word for word, _ in trained.pre_tokenizer.pre_tokenize_str(trained.normalizer.normalize_str(text))]
        for text in texts
    ]
    symbols, inside = _symbols(rows, (vocabulary - len(SPECIAL)) // 2)
    # The trainer numbers single characters inside of words in the order of a hash map, and its ties go by number: two
    # processes would get two vocabularies. Given to it as special tokens they have their place.
    trainer = WordPieceTrainer(
        vocab_size=vocabulary,
        special_tokens=[*SPECIAL, *symbols, *(f"##{symbol}" for symbol in inside)],
        limit_alphabet=0,
        show_progress=False,
    )
    known = set(symbols)
    trained.train_from_iterator((" ".join(word for word in row if known.issuperset(word)) for row in rows), trainer)
    return _with_specials(trained.get_vocab())  # made anew, because there only these four are special


def _symbols(rows: list[list[str]], most: int) -> tuple[list[str], list[str]]:
    """The most frequent characters, and those of them that stand inside of words."""
    count: Counter[str] = Counter()
    inside: set[str] = set()
    for row in rows:
        for word in row:
            count.update(word)
            inside.update(word[1:])
    frequent = sorted(count, key=lambda symbol: (-count[symbol], symbol))[:most]
    return sorted(frequent), sorted(inside.intersection(frequent))


def _word_level(vocabulary: tuple[str, ...], cut: str) -> Tokenizer:
    """A token for each piece of a text; `cut`: one of `CUTS`."""
    from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers
    from tokenizers.models import WordLevel

    numbers = {token: number for number, token in enumerate(vocabulary)}
    tokenizer = Tokenizer(WordLevel(numbers, unk_token=vocabulary[-1]))
    if cut == "Split":
        tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    else:
        tokenizer.normalizer = normalizers.Lowercase()
        tokenizer.pre_tokenizer = getattr(pre_tokenizers, cut)()
    return tokenizer

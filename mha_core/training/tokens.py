"""Tokenizers of the tasks, trained on their training rows, or on all of their texts if requested."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ..errors import HeadlightError, SizeError
from ..models.vision import token_names
from .tasks import Dates, Labelled, Language, Pictures, Task

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# Their index is their id; padding is 0, the padding row of the embedding.
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
CUTS = ("Split", "Whitespace", "WhitespaceSplit")  # at characters, at words and punctuation, at spaces
MAX_PER_TASK = 2  # cached tokenizers

# Training one on a thousand long texts takes seconds, and a comparison has a run per seed and model. The keys are weak,
# as the texts may be private to a session that ends.
_cache: WeakKeyDictionary[Labelled, dict[tuple[int, bool], Tokenizer]] = WeakKeyDictionary()


def for_task(task: Task, vocabulary: int = 1000, *, all_texts: bool = False) -> Tokenizer:
    """Return the task's tokenizer, without padding and truncation, equal in every process and shared by its runs.

    Args:
        task: labelled texts get a WordPiece tokenizer like MiniLM's, trained on the training rows, which adds "[CLS]"
            and "[SEP]"; a language task or a translation gets its own vocabulary without added tokens; that of pictures
            names the patches.
        vocabulary: the maximum number of tokens of a WordPiece tokenizer, special ones included.
        all_texts: train it on the test rows too, so that their words are known.

    Raises:
        SizeError: there is only room for special tokens.
    """
    if isinstance(task, Language):
        return _word_level(task.vocabulary, "WhitespaceSplit" if task.joined_by else "Split")
    if isinstance(task, Dates):
        return _word_level(task.vocabulary, "Whitespace")
    if isinstance(task, Pictures):
        return _word_level(token_names(*task.sizes), "WhitespaceSplit")
    if vocabulary < len(SPECIAL) + 2:
        raise SizeError(f"a vocabulary of {vocabulary} is too small; choose {len(SPECIAL) + 2} or more")
    tokenizers, key = _cache.setdefault(task, {}), (vocabulary, all_texts)
    if key not in tokenizers:
        rows = (*task.train, *task.test) if all_texts else task.train
        tokenizers[key] = _word_piece([row.text for row in rows], vocabulary)
        for earlier in list(tokenizers)[:-MAX_PER_TASK]:
            tokenizers.pop(earlier, None)
    return tokenizers[key]


def from_file(text: str) -> Tokenizer:
    """Rebuild a saved tokenizer from its vocabulary.

    Nothing else of the file is used: an untrusted regular expression could keep the server busy forever.

    Raises:
        HeadlightError: it is no tokenizer of a task.
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
        reason = error if type(error) is ValueError else type(error).__name__
        raise HeadlightError(f"this is no tokenizer of a trained model ({reason})") from error


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
    # The trainer numbers single characters inside of words in the order of a hash map and breaks ties by number, so
    # vocabularies would differ between processes. As special tokens they have fixed numbers.
    trainer = WordPieceTrainer(
        vocab_size=vocabulary,
        special_tokens=[*SPECIAL, *symbols, *(f"##{symbol}" for symbol in inside)],
        limit_alphabet=0,
        show_progress=False,
    )
    alphabet = set(symbols)
    trained.train_from_iterator((" ".join(word for word in row if alphabet.issuperset(word)) for row in rows), trainer)
    return _with_specials(trained.get_vocab())  # rebuilt, so that only these four are special


def _symbols(rows: list[list[str]], max_symbols: int) -> tuple[list[str], list[str]]:
    """Return the most frequent characters, and those of them that occur inside of words."""
    count: Counter[str] = Counter()
    inside: set[str] = set()
    for row in rows:
        for word in row:
            count.update(word)
            inside.update(word[1:])
    frequent = sorted(count, key=lambda symbol: (-count[symbol], symbol))[:max_symbols]
    return sorted(frequent), sorted(inside.intersection(frequent))


def _word_level(vocabulary: tuple[str, ...], cut: str) -> Tokenizer:
    """Build a tokenizer with a token for each piece of a text; `cut` is one of `CUTS`."""
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

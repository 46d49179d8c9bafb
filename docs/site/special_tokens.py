"""Extension of Griffe that keeps tokens such as [CLS] [SEP] in docstrings from being read as links of Markdown."""

import re
from typing import Any

import griffe

_TOKEN = re.compile(r"(?<![`\w])\[(CLS|SEP|PAD|MASK|UNK)\](?!`)")


class SpecialTokens(griffe.Extension):
    """Extension that escapes the brackets of special tokens."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Escape them in the docstring of one object."""
        if obj.docstring:
            obj.docstring.value = _TOKEN.sub(r"\\[\1\\]", obj.docstring.value)

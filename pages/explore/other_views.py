"""Another view of the run under the large map, as `view` of a link says it: its name, and a state that is its own."""

NAMES = ("heads", "flow", "channels")  # as assets/web/explore/other_views.js has them


def parse_view(text: str) -> tuple[str, str]:
    """`heads.previous.entropy` -> `heads` and `previous.entropy`; two empty texts where no view has that name."""
    name, _, state = text.partition(".")
    return (name, state) if name in NAMES else ("", "")

"""The story of each box: what it does, in two or three sentences for students."""

from headlight.picture import next_token, words
from headlight.picture.pictures import Picture
from headlight.ui import sheet
from headlight.ui.numbers import count, percent
from headlight.ui.sheet import Block
from mha_core.models.architecture import BRANCH, Box
from mha_core.token_text import quote

from .scene import Scene

OTHER_RUN = "These numbers are those of the {}. Choose it as the attention above to see this box at work."


def blocks(scene: Scene) -> list[Block]:
    """Return the story of the box in focus, and its parameters."""
    box, plan = scene.box, scene.plan
    text = _STORIES.get(box.kind, _module)(scene)
    total, where = sum(box.parameters), ""
    if not total:
        shared = " It shares the embedding’s table." if box.note.startswith("tied") else ""
        return [sheet.text(text), sheet.text(f"No parameters of its own.{shared}", muted=True)]
    if box.place == "layer" and plan.n_layers > 1:
        where = f" in {count(plan.n_layers, 'layer')}, {box.parameters[scene.layer]:,} in this one"
    share = percent(total / plan.n_parameters)
    return [sheet.text(text), sheet.text(f"{total:,} parameters{where}: {share} of the model’s.", muted=True)]


def _tokens(scene: Scene) -> str:
    noun = words.input_noun(scene.model)
    if noun != "sentence" or scene.box.title == "patches":
        return f"The {noun} is cut into pieces, one token each. From here on the model works with these pieces alone."
    if scene.box.column:
        return (
            "What the model has written so far, beginning with a start token. It writes one token, reads it as its own "
            "input, and writes the next."
        )
    return (
        f"The sentence is cut into tokens: words, or pieces of words, from a list of {scene.model.sizes.vocabulary:,}. "
        f"From here on the model works with their numbers in this list. {quote(scene.token)} is number "
        f"{scene.picture.run.ids[scene.row]:,}."
    )


def _embedding(scene: Scene) -> str:
    if scene.model.reads != "text" or scene.box.note.startswith("module"):
        return "Each piece becomes a vector. These vectors begin the residual stream, one lane for each token."
    return (
        "The number of a token picks one row of a table: a vector that training has chosen. The same token always "
        "starts with the same vector, whatever stands around it. These vectors begin the residual stream, one lane for "
        "each token."
    )


def _positions(scene: Scene) -> str:
    alone = "Attention alone cannot tell the order of the words."
    if scene.box.lane == 0:
        return (
            f"{alone} So a vector that depends on the position alone is added to each token’s vector: the same word at "
            "two places starts with two different vectors."
        )
    if "turns" in scene.box.note:
        return (
            f"{alone} Here nothing is added to the vectors. In every layer queries and keys are turned by an angle that "
            "grows with their position, so that a score depends on how far apart two tokens are."
        )
    return f"{alone} Here a number that depends on the distance of two tokens is added to each of their scores."


def _norm(scene: Scene) -> str:
    size = "the vector of each token is brought to a standard size, channel by channel scaled as training has chosen"
    if scene.box.lane == BRANCH:
        return (
            f"Before the next part reads the residual stream, {size}. Only this copy is changed: the stream itself "
            "passes by as it is."
        )
    if scene.box.place == "layer" and scene.plan.norm == "post-norm":
        return (
            f"After the addition {size}. Here the stream itself goes through the norm (post-norm, as in the paper of "
            "2017); later models norm a copy instead."
        )
    before = "Before the result is read" if scene.box.place == "after" else "Before the layers begin"
    return f"{before}, {size}."


def _attention(scene: Scene) -> str:
    heads = count(scene.model.sizes.n_heads, "head")
    ends = "added to the residual stream" if scene.box.lane == BRANCH else "what the next part reads"
    return (
        "The only place where tokens exchange information. The query of each token is compared with the keys of all "
        f"tokens that it may see; the better they fit, the more of that token’s value it receives. {heads} do this side "
        f"by side, and their joint result is {ends}."
    )


def _cross(scene: Scene) -> str:
    return (
        "Here the text that is written asks the text that was read: the queries come from this column, keys and values "
        "from the top of the encoder. Each row of its map shows where in the source one written token looks."
    )


def _add(scene: Scene) -> str:
    part = scene.source_kind()
    return (
        f"The residual connection: what {part} computed is added to the vector that was there before. Nothing is "
        f"replaced. All that came from below stays in the sum, and {part} only contributes a change; if it computed "
        "zeros, the vector would pass as it is."
    )


def _mlp(scene: Scene) -> str:
    box, plan = scene.box, scene.plan
    layer = sum(other.parameters[scene.layer] for other in plan.boxes if other.place == "layer" and other.column == box.column)
    share = percent(box.parameters[scene.layer] / layer) if box.place == "layer" and layer else ""
    ends = "The result is added to the residual stream." if box.lane == BRANCH else ""
    holds = f" It holds {share} of this layer’s parameters." if share else ""
    return (
        "Each token’s vector goes through the same small network by itself, without a look at the other tokens: "
        f"widened, most of its values pushed towards 0, and narrowed again. {ends}{holds}"
    )


def _pooling(scene: Scene) -> str:
    return f"The vectors of all tokens become one for the whole {words.input_noun(scene.model)}: {scene.box.note}."


def _head(scene: Scene) -> str:
    if not next_token.continues_text(scene.picture) and not scene.box.column:
        return f"This vector becomes one score for each of {scene.box.axes[-1][1]:,} classes."
    return (
        "The vector of the last token is compared with every token of the vocabulary and gets one score, or logit, for "
        "each. Only the last one is needed to say what comes next."
    )


def _probabilities(scene: Scene) -> str:
    text = "The softmax turns the scores into probabilities, which are positive and sum to 1."
    best = best_tokens(scene.picture, 1)
    return f"{text} The likeliest next token here is {quote(best[0][0])}, with {best[0][1]:.4f}." if best else text


def _module(scene: Scene) -> str:
    return (
        "A part of this model that is none of those in the paper. Its class is the title of this box; what it computes "
        "is in its code."
    )


_STORIES = {
    "tokens": _tokens, "embedding": _embedding, "positions": _positions, "norm": _norm, "attention": _attention,
    "cross-attention": _cross, "add": _add, "mlp": _mlp, "pooling": _pooling, "head": _head,
    "probabilities": _probabilities,
}  # fmt: skip


def best_tokens(picture: Picture, number: int) -> list[tuple[str, float]]:
    """Return the likeliest next tokens with their probabilities; none from a model without next tokens."""
    return [(token["label"], token["chance"]) for token in next_token.likeliest_tokens(None, picture, number)]


def missing(scene: Scene) -> str:
    """Return why there are no numbers of the box in focus."""
    box: Box = scene.box
    if not scene.runs_here:
        return OTHER_RUN.format("encoder" if scene.model.group == "encoder" else "decoder")
    return "This box is no module of its own, so its numbers are not recorded; those of its neighbours are." if not box.paths else "This box did not run in this pass."

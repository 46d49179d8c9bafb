"""The story of each box, from assets/boxes.toml, filled with the facts of this model and this run."""

from typing import Any

from headlight import read_toml
from headlight.picture import next_token, words
from headlight.ui import sheet
from headlight.ui.numbers import percent, weight
from headlight.ui.sheet import Block
from mha_core.models.architecture import BRANCH, STREAM
from mha_core.token_text import quote

from .scene import Scene

BOXES: dict[str, dict[str, Any]] = read_toml("boxes")


def blocks(scene: Scene) -> list[Block]:
    """Return the story of the box in focus, and its parameters."""
    box, total, scope = scene.box, sum(scene.box.parameters), ""
    if len(box.parameters) > 1:
        scope = f"{box.parameters[scene.layer]:,} parameters in this layer; in all {scene.plan.n_layers} layers "
    share = percent(total / scene.plan.n_parameters)
    size = f"{scope}{total:,} parameters, {share} of the model’s." if total else "No parameters of its own."
    return [sheet.text(entry(scene)["story"].format(f=Facts(scene))), sheet.text(size, muted=True)]


def entry(scene: Scene) -> dict[str, Any]:
    """Return the texts for the variant of the box in focus."""
    box, model = scene.box, scene.model
    is_read = model.reads != "text" and not box.column
    match box.kind:
        case "tokens":
            variant = "decoder" if box.column else "pieces" if is_read else ""
        case "embedding":
            variant = "pieces" if is_read else ""
        case "positions":
            variant = "add" if box.lane == STREAM else "rotate" if box.note == "rotary" else "bias"
        case "norm":
            variant = "branch" if box.lane == BRANCH else "stream" if box.place == "layer" else box.place
        case "mlp":
            variant = "gated" if box.note.startswith("SwiGLU") else ""
        case "head":
            continues = next_token.continues_text(scene.picture) or box.column
            variant = "classes" if not continues else "tied" if box.note.startswith("tied") else ""
        case _:
            variant = ""
    name = "other" if box.name == "other" else f"{box.kind} {variant}".strip()
    return BOXES[name]


class Facts:
    """The facts that a text may name, each computed when it does."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self.note = scene.box.note
        self.noun = words.input_noun(scene.model)
        self.vocabulary = f"{scene.model.sizes.vocabulary:,}"
        self.token = quote(scene.token)
        self.number = f"{scene.picture.run.ids[scene.row]:,}"
        n = scene.model.sizes.n_heads
        self.heads = f"{n} heads do this side by side, and their joint result" if n > 1 else "Its only head’s result"
        self.goal = "added to the residual stream" if scene.box.lane == BRANCH else "what the next part reads"
        self.outputs = f"{dict(scene.box.axes).get('v', 0):,}"

    @property
    def part(self) -> str:
        """The noun for the part whose result an addition adds."""
        sources = [self.scene.plan.box(name) for name in self.scene.plan.sources(self.scene.box.name)]
        kinds = [source.kind for source in sources if source and source.lane == BRANCH]
        return {"mlp": "the MLP", "cross-attention": "cross-attention"}.get(kinds[0] if kinds else "", "attention")

    @property
    def function(self) -> str:
        """The formula of that part."""
        name = {"the MLP": "MLP", "attention": "Attention"}.get(self.part, "CrossAttention")
        return f"{name}({'Norm(x)' if self.scene.plan.norm == 'pre-norm' else 'x'})"

    @property
    def share(self) -> str:
        """The share of the box in the parameters of its layer."""
        box, boxes = self.scene.box, self.scene.plan.boxes
        layer = [part for part in boxes if part.place == "layer" and part.column == box.column]
        counts = {part.name: part.parameters[self.scene.layer % len(part.parameters)] for part in layer}
        return percent(counts.get(box.name, 0) / max(1, sum(counts.values())))

    @property
    def top(self) -> str:
        """A sentence on the key that gets the most weight of the token in focus, in the head in focus."""
        run, cursor = self.scene.picture.run, self.scene.cursor
        if not self.scene.runs_here or self.scene.model.group == "cross":
            return ""
        weights = run.weights[cursor.layer, cursor.head, self.scene.row]
        key = int(weights.argmax())
        name, value = quote((run.key_tokens or run.tokens)[key]), weight(float(weights[key]))
        return f"In head {cursor.head} of layer {cursor.layer}, {self.token} attends most to {name}: {value}."

    @property
    def best(self) -> str:
        """A sentence on the likeliest next token, "" without one."""
        tokens = next_token.likeliest_tokens(None, self.scene.picture, 1)
        text = "The likeliest next token here is {}, with {:.4f}."
        return text.format(quote(tokens[0]["label"]), tokens[0]["chance"]) if tokens else ""

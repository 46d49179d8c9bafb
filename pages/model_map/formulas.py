"""The formula of each box, with the sizes of this model and this sentence."""

from headlight.ui import equations, sheet
from headlight.ui.equations import Node, call, equation, fraction, name, root, row, sign, sub, sup, tensor, value
from headlight.ui.sheet import Block
from mha_core.models.decoder import SwiGLU
from mha_core.models.stack import Stack

from .scene import Scene

_X = name("x")


def blocks(scene: Scene) -> list[Block]:
    """Return the formulas of the box in focus."""
    make = _FORMULAS.get(scene.box.kind)
    found = make(scene) if make else []
    return found or [sheet.text("This box has no formula in the paper; its code says what it computes.")]


def _line(scene: Scene, right: Node, note: str = "") -> list[Block]:
    axes = [(letter, scene.lengths[scene.box.column] if size is None else size) for letter, size in scene.box.axes]
    left = tensor(_X, *[axis for axis in axes if axis[1]])
    return [equation(scene.box.title, [row(left, sign("←"), right)], note)]


def _width(scene: Scene) -> int:
    return scene.model.sizes.d_model


def _weight(letter: str, rows: int, columns: int, rows_axis: str = "c") -> Node:
    return tensor(name(letter), (rows_axis, rows), ("c", columns))


def _embedding(scene: Scene) -> list[Block]:
    if scene.model.reads != "text":
        return []
    table = tensor(name("E"), ("v", scene.model.sizes.vocabulary), ("c", _width(scene)))
    return _line(scene, sub(table, name("token")), "the row of each token")


def _positions(scene: Scene) -> list[Block]:
    q, k = name("q"), name("k")
    if scene.box.lane == 0:
        return _line(scene, row(_X, sign("+"), sub(name("P"), name("i", "i"))), "P has one row for each position i")
    if "turns" in scene.box.note:
        lines = [row(sub(x, name(i, i)), sign("←"), sub(name("R"), name(i, i)), sub(x, name(i, i))) for x, i in ((q, "i"), (k, "j"))]
        return [equation("Rotary positions", lines, "R turns each pair of channels by an angle times the position")]
    scores = row(fraction(row(q, sup(k, name("T"))), root(name("d"))), sign("+"), call("b", row(name("i", "i"), sign("−"), name("j", "j"))))
    return [equation("Positions as a bias", [row(name("scores"), sign("="), scores)], "b depends on the distance")]


def _norm(scene: Scene) -> list[Block]:
    eps, squares = name("ε"), sup(_X, value("2"))
    if scene.box.title == "RMSNorm":
        root_part = root(row(call("mean", squares), sign("+"), eps))
        return _line(scene, row(name("g"), sign("⊙"), fraction(_X, root_part)), "over the channels of each token; g is learned")
    root_part = root(row(sup(name("σ"), value("2")), sign("+"), eps))
    right = row(name("g"), sign("⊙"), fraction(row(_X, sign("−"), name("μ")), root_part), sign("+"), name("b"))
    return _line(scene, right, "μ and σ over the channels of each token; g and b are learned")


def _attention(scene: Scene) -> list[Block]:
    sizes = scene.model.sizes
    n_source, n_target = scene.lengths
    cross = scene.box.kind == "cross-attention"
    len_q = (n_target if scene.box.column else n_source) or scene.model.sizes.max_len
    len_k = n_source if cross else len_q
    d = sizes.d_model // sizes.n_heads
    return [equations.attention(len_q, len_k, d, d), equations.multi_head(len_q, sizes.n_heads, sizes.d_model)]


def _add(scene: Scene) -> list[Block]:
    part = {"the MLP": "MLP", "attention": "Attention"}.get(scene.source_kind(), "CrossAttention")
    norm = "Norm" if scene.plan.norm == "pre-norm" else ""
    inner = call(norm, _X) if norm else _X
    return _line(scene, row(_X, sign("+"), call(part, inner)), "the old x stays in the sum")


def _mlp(scene: Scene) -> list[Block]:
    stack = scene.model.encoder
    if stack is None or stack.block(0).feed_forward is None and not scene.box.column:
        right = row(sub(name("W"), value("2")), call("f", row(sub(name("W"), value("1")), _X)))
        return _line(scene, right, f"f acts on each value by itself: {scene.box.note}")
    c, wide = _width(scene), scene.model.sizes.d_feed_forward
    if _is_gated(stack):
        gate = call("silu", row(_weight("G", wide, c), _X))
        right = row(_weight("D", c, wide), sign("("), gate, sign("⊙"), _weight("U", wide, c), _X, sign(")"))
        return _line(scene, right, "silu(z) = z · sigmoid(z), for each value by itself")
    inner = row(_weight("V", wide, c), _X, sign("+"), name("a"))
    right = row(_weight("W", c, wide), call("GELU", inner), sign("+"), name("b"))
    return _line(scene, right, "GELU(z) is near 0 for negative z and near z for positive z, for each value by itself")


def _is_gated(stack: Stack) -> bool:
    return any(isinstance(part, SwiGLU) for part in stack.block(0).modules())


def _pooling(scene: Scene) -> list[Block]:
    n = scene.lengths[0]
    if "mean" not in scene.box.note:
        return _line(scene, sub(_X, value("0")), "the row of the first token")
    mean = fraction(row(sign("Σ"), sub(_X, name("i", "i"))), value(str(n)))
    note = "then divided by its length" if "length 1" in scene.box.note else "the mean over the tokens i"
    return _line(scene, mean, note)


def _head(scene: Scene) -> list[Block]:
    width = scene.box.axes[-1][1] or 1
    weight = tensor(name("E" if scene.box.note.startswith("tied") else "W"), ("v", width), ("c", _width(scene)))
    bias = [] if scene.box.note.startswith("tied") else [sign("+"), name("b")]
    return [equation("head", [row(name("z"), sign("="), weight, _X, *bias)], "one score z for each output")]


def _probabilities(scene: Scene) -> list[Block]:
    scores = name("z")
    exp = sup(name("e"), sub(scores, name("v", "v")))
    total = row(sign("Σ"), sup(name("e"), scores))
    return [equation("softmax", [row(sub(name("p"), name("v", "v")), sign("="), fraction(exp, total))], "they sum to 1")]


_FORMULAS = {
    "embedding": _embedding, "positions": _positions, "norm": _norm, "attention": _attention,
    "cross-attention": _attention, "add": _add, "mlp": _mlp, "pooling": _pooling, "head": _head,
    "probabilities": _probabilities,
}  # fmt: skip

"""Plain form of each implementation and of `attention`: `python -m tests.plain_forms` writes assets/plain_forms.json.

A plain form is self-attention as a module of a few lines that runs as it stands. It is the forward pass of the core
with every option at its default: constants are folded, the core's own functions inlined, traces and checks dropped.
"""

import ast
import inspect
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from textwrap import dedent, indent
from typing import Any, cast

from headlight import ROOT
from mha_core import IMPLEMENTATIONS, attention
from mha_core.attention import AttentionLayer

FILE = ROOT / "assets" / "plain_forms.json"
ENTRY = {"sequence_first": "time_first"}  # without the change from batch first and back; else `attend`
BIASES = ("self.bias", "self.out_bias", "self.v_bias")
# value in a plain form -> expressions of the core
VALUES = {
    "True": (*BIASES, "switches.need_weights", "scores.requires_grad"),
    "False": ("self.training", "q.requires_grad", "weights is None"),
    "None": ("self.cache", "switches.allow", "mask", "biases[n]", "switches.ablate.heads", "switches.ablate.values"),
    "(None, None)": ("switches.ablate",),
    "0.0": ("self.drop_rate", "self.dropout"),
    "1.0": ("switches.temperature",),
    "x": ("query", "key", "value"),
    "no_trace": ("trace", "switches.trace"),
    "self.n_heads": ("self.n_kv_heads",),
}
IN_BUILD = {
    "d_model": ("self.d_model", "self.d_kv"),
    "3 * d_model": ("d_model + 2 * d_model",),
    "n_heads": ("self.n_heads", "self.n_kv_heads"),
    "nn.Linear(d_model, d_model)": (
        "ProjectAndSplit(d_model, n_heads)",
        "ProjectAndSplit(d_model, n_heads, True, d_model)",
    ),
}
OWN_VALUES: dict[str, dict[str, Sequence[str]]] = {
    # the notebook in einsum has no biases
    "einsum": {"False": BIASES, "None": [f"self.{n}_bias" for n in ("query", "key", "value", "output")]},
    "attention": {"None": ("bias", "allow"), "1.0": ("temperature",)},
}
# calls without effect on their arguments: no positions, cache, shared key/value heads and trace
IDLE = {"add_once", "rotate", "keys_values", "keys_values_per_head", "_rotate", "_biases", "_batch_first"}
IDLE |= {"_heads_first", "head_tracer"}
DEFAULTS = {"bias=True", "strict=True", "out=None", "attn_mask=None", "dropout=0.0", "dropout_p=0.0"}
DEFAULTS |= {"need_weights=True", "scale=scale"}
NAMED = {"x", "q", "k", "v", "scores", "weights", "heads", "mixed", "joined", "out"}  # each gets a line of its own
SIZES = {"self.n_heads": "n_heads", "self.d_head": "d_model // n_heads"}
IMPORTS = {"math": "import math", "torch": "import torch", "nn": "from torch import nn"}
IMPORTS |= {"F": "from torch.nn import functional as F"}
Facts = dict[str, str]


def _facts(values: Mapping[str, Sequence[str]]) -> Facts:
    return {expression: value for value, expressions in values.items() for expression in expressions}


class PlainForm:
    """The class of a plain form as text, and what its functions collect for it."""

    def __init__(self, name: str) -> None:
        self.layer = IMPLEMENTATIONS.get(name)
        self.entry = getattr(self.layer, ENTRY.get(name, "attend"), attention)
        self.facts = _facts(VALUES) | _facts(OWN_VALUES.get(name, {}))
        self.axes: dict[str, str] = {}  # variable -> letters
        self.methods: dict[str, tuple[list[str], list[ast.stmt]]] = {}  # name -> parameters, body
        body = Folding(self, self.entry, {}).body()
        code = self._class(self.layer, body) if self.layer else _define(name, ["q", "k=None", "v=None"], body)
        imports = [line for word, line in IMPORTS.items() if re.search(rf"\b{word}\.", code)]
        code = _formatted("\n".join([*imports, code]))
        self.text = re.sub(r"^ +(\w+) = .*[^(\n]$", self._with_axes, code, flags=re.MULTILINE)

    def _class(self, layer: type[AttentionLayer], forward: list[ast.stmt]) -> str:
        self._drop_unread_results(forward)
        self.facts |= _facts(IN_BUILD)
        created = Folding(self, layer.build, {}).body()
        methods = [
            _define("forward", ["self", "x"], forward),
            *(_define(name, *one) for name, one in self.methods.items()),
        ]
        sizes = [size for size in SIZES if size in "\n".join([*methods, *map(ast.unparse, created)])]
        init = ["super().__init__()", *(f"{size} = {SIZES[size]}" for size in sizes)]
        init_method = _define("__init__", ["self", "d_model", "n_heads"], [*ast.parse("\n".join(init)).body, *created])
        return f"class {layer.__name__}(nn.Module):\n" + indent("\n".join([init_method, *methods]), " ")

    def _drop_unread_results(self, forward: list[ast.stmt]) -> None:
        """Let the method that runs for each head return only what `forward` reads."""
        for statement in forward:
            match statement:
                case ast.Assign([ast.Tuple(targets)], ast.Call(ast.Name("zip"))):
                    loads, ((name, (parameters, body)),) = _loads(forward), self.methods.items()
                    kept = [n for n, target in enumerate(targets) if loads[ast.unparse(target)]]
                    for results in (targets, body[-1].value.elts):  # type: ignore[attr-defined]
                        results[:] = [results[n] for n in kept]
                    self.methods[name] = parameters, _tidy(body)

    def _with_axes(self, line: re.Match[str]) -> str:
        return f"{line[0]}  # {axes}" if (axes := self.axes.get(line[1])) else line[0]


class Folding(ast.NodeTransformer):
    """One function of the core, folded under the facts of a plain form."""

    def __init__(self, form: PlainForm, function: Callable[..., Any], facts: Facts) -> None:
        self.form, self.function = form, function
        self.facts = form.facts | facts
        self.before: list[ast.stmt] = []  # statements of inlined functions, which come before the current one
        self.is_repeated = False  # in a comprehension

    def body(self) -> list[ast.stmt]:
        """Return the statements that are left."""
        (function,) = ast.parse(dedent(inspect.getsource(self.function))).body
        return _tidy(self._block(function.body))  # type: ignore[attr-defined]

    def _block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        result: list[ast.stmt] = []
        for statement in statements:
            self.is_repeated = False
            match statement:
                case ast.If(test, body, orelse):
                    result += self._block(body if _value(self.visit(test)) else orelse)
                case ast.Expr(ast.Call(ast.Name("trace") | ast.Attribute(attr="trace"), [_, ast.Name(name), axes, *_])):
                    self.form.axes[name] = str(_value(self.visit(axes), ""))
                case ast.Expr():
                    pass  # a docstring, check or record
                case ast.Assign(value=ast.Call(call)) if ast.unparse(call).rpartition(".")[2] in IDLE:
                    pass
                case ast.Assign([target], value) | ast.AnnAssign(target, value=ast.expr() as value):
                    result += self._assign(target, self.visit(value))
                case _:
                    folded = self.visit(statement)
                    result += [*self.before, folded]
            if result and isinstance(result[-1], ast.Return):
                break
        return result

    def _assign(self, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        is_pairs = isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple)
        pairs = zip(target.elts, value.elts, strict=True) if is_pairs else [(target, value)]  # type: ignore[attr-defined]
        result, self.before = self.before, []
        for name, own in pairs:
            if isinstance(own, ast.Constant) or ast.unparse(own) == "no_trace":
                self.facts[ast.unparse(name)] = ast.unparse(own)
            else:
                result.append(ast.Assign([name], own, lineno=0))
        return result

    def visit(self, node: ast.AST) -> Any:
        """Replace what is known, and fold the rest."""
        if isinstance(node, ast.IfExp) and isinstance(test := self.visit(node.test), ast.Constant):
            return self.visit(node.body if test.value else node.orelse)
        self.is_repeated |= isinstance(node, ast.ListComp)
        for is_first in (True, False):
            node = node if is_first else self._fold(self.generic_visit(node))
            if isinstance(node, ast.expr) and (known := self.facts.get(ast.unparse(node))) is not None:
                return ast.parse(known, mode="eval").body
        return node

    def _fold(self, node: ast.AST) -> ast.AST:
        match node:
            case ast.Compare(left, [operator], [right]) if ast.unparse(left) == ast.unparse(right):
                return ast.Constant(isinstance(operator, (ast.Is, ast.Eq)))
            case ast.BoolOp(operator, values) if all(isinstance(value, ast.Constant) for value in values):
                return ast.Constant((all if isinstance(operator, ast.And) else any)(map(_value, values)))
            case ast.UnaryOp(ast.Not(), ast.Constant(value)):
                return ast.Constant(not value)
            case ast.BinOp(left, ast.Mult() | ast.Div(), ast.Constant(1.0)):
                return left
            case ast.Call(ast.Attribute(ast.Attribute(attr="position"), "bias")):
                return ast.Constant(None)
            case ast.Call(function):
                name = ast.unparse(function)
                own = getattr(self.form.layer, name[5:], None) if name.startswith("self.") else None
                inner = own or self.function.__globals__.get(name)
                if "no_trace" in map(ast.unparse, node.args) and name[:5] == "self." and own is None:
                    inner = self.function.__globals__["ProjectAndSplit"].forward
                if inspect.isfunction(inner) and inner.__module__.startswith("mha_core"):
                    return self._inlined(node, inner, name)
                node.keywords = [one for one in node.keywords if ast.unparse(one) not in DEFAULTS]
                while node.args and ast.unparse(node.args[-1]) in ("None", "True"):
                    node.args.pop()
        return node

    def _inlined(self, call: ast.Call, function: Callable[..., Any], name: str) -> ast.expr:
        """Give the value of a call, whose statements go before; or a call of a method that the form keeps."""
        signature = inspect.signature(function)
        is_method = "self" in signature.parameters
        given = signature.bind(*["self"] * is_method, *map(ast.unparse, call.args)).arguments
        given |= {str(one.arg): ast.unparse(one.value) for one in call.keywords}
        defaults = {key: repr(one.default) for key, one in signature.parameters.items() if key != "trace"}
        body = Folding(self.form, function, {**defaults, **given, "self.linear": name}).body()
        is_shared = is_method and inspect.getsource(self.form.entry).count(f"{name}(") > 1
        if not (is_shared and hasattr(self.form.layer, name[5:])) and (len(body) == 1 or not self.is_repeated):
            self.before += body[:-1]
            return cast(ast.expr, cast(ast.Return, body[-1]).value)
        body = Folding(self.form, function, {key: text for key, text in given.items() if text == "None"}).body()
        parameters = [key for key in given if _loads(body)[key] or key == "self"]
        kept = name[5:].strip("_")
        self.form.methods[kept] = parameters, body
        return ast.parse(f"self.{kept}({', '.join(given[key] for key in parameters[1:])})", mode="eval").body


class Replacing(ast.NodeTransformer):
    """A name, replaced by an expression."""

    def __init__(self, name: str, value: ast.expr) -> None:
        self.name, self.value = name, value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.value if node.id == self.name else node


def _tidy(body: list[ast.stmt]) -> list[ast.stmt]:
    """Drop assignments that nothing reads, and merge those that one line reads, unless the tensor has a name."""
    for index, statement in enumerate(body):
        match statement:
            case ast.Assign([ast.Tuple(targets)]) if not any(_loads(body)[ast.unparse(each)] for each in targets):
                return _tidy([*body[:index], *body[index + 1 :]])
            case ast.Assign([ast.Name(name) as target], value):
                count, rest = _loads(body)[name], [*body[:index], *body[index + 1 :]]
                is_result = ast.unparse(rest[-1]) == f"return {name}"
                if count == 0 or ast.unparse(value) == name:
                    return _tidy(rest)
                if isinstance(value, ast.Name) and name in NAMED and value.id not in NAMED:
                    return _tidy([Replacing(value.id, target).visit(each) for each in rest])
                if isinstance(value, ast.Name) or (count == 1 and (name not in NAMED or is_result)):
                    return _tidy([Replacing(name, value).visit(each) for each in rest])
    return body


def _loads(body: Sequence[ast.stmt]) -> Counter[str]:
    """Return how often each name is read."""
    names = [node for statement in body for node in ast.walk(statement) if isinstance(node, ast.Name)]
    return Counter(node.id for node in names if isinstance(node.ctx, ast.Load))


def _value(node: ast.expr, unknown: Any = False) -> Any:
    return node.value if isinstance(node, ast.Constant) else unknown


def _define(name: str, parameters: Sequence[str], body: Sequence[ast.stmt]) -> str:
    lines = [re.sub(r"^return \((.*)\)$", r"return \1", ast.unparse(statement)) for statement in body]
    return f"def {name}({', '.join(parameters)}):\n" + indent("\n".join(lines), " ")


def _formatted(code: str) -> str:
    ruff = [sys.executable, "-m", "ruff", "format", "--line-length=110", "--isolated", "-"]
    return subprocess.run(ruff, input=code, capture_output=True, text=True, check=True).stdout


def text() -> str:
    """Give the contents of the file: name -> lines."""
    forms = {name: PlainForm(name).text.splitlines() for name in (*IMPLEMENTATIONS, "attention")}
    return json.dumps(forms, indent=1) + "\n"


if __name__ == "__main__":
    FILE.write_text(text(), "utf-8")

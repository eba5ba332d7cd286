"""The dictionary and the lineage as one page: no script, nothing from elsewhere."""

from __future__ import annotations

import re

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from promptlab.build.descriptions import Exposure
from promptlab.build.plan import Plan
from promptlab.dictionary import tables
from promptlab.dictionary.drawing import BOX_HEIGHT, draw
from promptlab.dictionary.lineage import Lineage
from promptlab.version import __version__

_CHARACTER = 7
"""Width of a character in a box, in pixels, and the room at its sides."""
_PADDING = 14


def page(plan: Plan) -> str:
    """The page of the tables that a plan builds, as HTML."""
    lineage = Lineage.of(plan)
    told, raw = plan.descriptions, tables.raw(plan)
    known = {each.relation for each in [*told.marts, *told.policy, *raw]}
    return (
        _environment()
        .get_template("page.html.j2")
        .render(
            version=__version__,
            groups=tables.mart_groups(plan).items(),
            policy=told.policy,
            raw=raw,
            readers=_readers(told.readers),
            lineage=lineage,
            known=known,
            drawings=[Markup(each) for each in drawings(lineage)],
        )
    )


def drawings(lineage: Lineage) -> list[str]:
    """The graphs of a lineage as SVG, the largest first.

    A box is a link to ``#schema.table``.
    """
    template = _environment().get_template("drawing.svg.j2")
    return [
        template.render(drawing=draw(graph, _box_width), box_height=BOX_HEIGHT)
        for graph in lineage.graphs()
    ]


def _environment() -> Environment:
    env = Environment(
        loader=PackageLoader("promptlab.dictionary", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters |= {"code": _code, "short": _short}
    return env


def _readers(readers: list[Exposure]) -> dict[str, list[str]]:
    """Mart → labels of what reads it."""
    found: dict[str, list[str]] = {}
    for reader in readers:
        for name in reader.marts:
            found.setdefault(f"marts.{name}", []).append(reader.label)
    return found


def _short(name: str) -> str:
    """A table's name as a box says it: a mart's without its schema."""
    return name.removeprefix("marts.")


def _box_width(name: str) -> int:
    return len(_short(name)) * _CHARACTER + _PADDING


def _code(text: str) -> Markup:
    """A description as HTML; only its code marks mean anything."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))

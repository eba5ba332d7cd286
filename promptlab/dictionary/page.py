"""The dictionary and the lineage as one page without scripts or external files."""

from __future__ import annotations

import re

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from promptlab.build.descriptions import Exposure
from promptlab.build.plan import Plan
from promptlab.dictionary import tables
from promptlab.dictionary.lineage import Lineage
from promptlab.version import __version__


def page(plan: Plan) -> str:
    """Return the page of the tables of a plan, as HTML."""
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
        )
    )


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
    """Mart → labels of its readers."""
    found: dict[str, list[str]] = {}
    for reader in readers:
        for name in reader.marts:
            found.setdefault(f"marts.{name}", []).append(reader.label)
    return found


def _short(name: str) -> str:
    """Return the displayed name: a mart's without its schema."""
    return name.removeprefix("marts.")


def _code(text: str) -> Markup:
    """Return a description as HTML; only code marks are converted."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))

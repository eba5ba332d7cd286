"""Templates: the Jinja environment, and the page of one task.

A template may use ``result`` (the AnalysisResult), ``view`` (what the page lists of
it, see :mod:`reports.view`), ``t(key, …)`` for a text of the catalogue, ``lang``, and
the filters of :mod:`reports.filters`. Everything is escaped; there is no way past it.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from jinja2 import (
    ChoiceLoader,
    Environment,
    FileSystemLoader,
    PackageLoader,
    StrictUndefined,
    TemplateError,
    TemplateSyntaxError,
)

from promptlab.contracts.analysis_result import AnalysisResult
from promptlab.errors import SettingsError
from reports.catalogue import Lang, catalogue
from reports.filters import Filters
from reports.limits import SHOWN, Limits
from reports.view import arrange, grade_tone, half_the_cases

SECTIONS = ("summary", "alerts", "dimensions", "cases", "method")
"""Sections of the report in order, each ``sections/<name>.html.j2``."""

MOST_BYTES = 4_900_000
"""A page is listed with fewer cases until it is no larger."""

_HTML_LANG = {"zh": "zh-CN", "en": "en"}


@lru_cache(maxsize=8)
def environment(lang: str, templates: Path | None = None) -> Environment:
    """Return the environment of all templates.

    Args:
        lang: Language of our texts, ``zh`` or ``en``.
        templates: Folder whose files replace the built-in ones of the same name.

    Raises:
        UsageError: there is no such language.
        SettingsError: *templates* is no folder.
    """
    built_in = PackageLoader("reports", "templates")
    if templates is not None and not templates.is_dir():
        raise SettingsError(f"templates: {templates} is not a folder")
    loaders = [FileSystemLoader(templates), built_in] if templates else [built_in]
    # autoescape=True, not select_autoescape(): that one leaves *.html.j2 unescaped.
    env = Environment(
        loader=ChoiceLoader(loaders),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    texts = catalogue(lang)
    filters = Filters(texts)
    env.filters.update(filters.as_mapping(), tone=grade_tone)
    env.globals.update(
        t=texts.text, interval=filters.interval, lang=lang, html_lang=_HTML_LANG[lang]
    )
    return env


def render(env: Environment, name: str, **values: Any) -> str:
    """Render the template *name*.

    Raises:
        SettingsError: the template is wrong; names its file and line.
    """
    return "".join(_pieces(env, name, values))


def render_within(env: Environment, name: str, most: int, **values: Any) -> str | None:
    """Render the template *name*, or give up as soon as it exceeds *most* bytes."""
    pieces, size = [], 0
    for piece in _pieces(env, name, values):
        size += len(piece.encode())
        if size > most:
            return None
        pieces.append(piece)
    return "".join(pieces)


def _pieces(env: Environment, name: str, values: dict[str, Any]) -> Iterator[str]:
    try:
        yield from env.get_template(name).generate(**values)
    except TemplateSyntaxError as error:
        place = f"{error.filename or error.name}:{error.lineno}"
        raise SettingsError(f"{place}: {error.message}") from error
    except TemplateError as error:
        # Jinja gives the frames of a template the template's own file and lines.
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{frame.filename}:{frame.lineno}"
        raise SettingsError(f"{place}: {error.message or error}") from error


def to_html(
    result: AnalysisResult,
    *,
    lang: str | None = None,
    templates: Path | None = None,
    limits: Limits = SHOWN,
) -> str:
    """Return the full report as one self-contained page of less than 5 MB.

    Args:
        result: What to report; a cut ``case_results`` is fine.
        lang: Language of our texts; by default the one *result* was made in.
        templates: Folder whose files replace the built-in ones of the same name.
        limits: How many cases, rounds and checks are listed at most.
    """
    env = environment(lang or language_of(result), templates)
    while True:
        values = {"result": result, "view": arrange(result, limits)}
        most = sys.maxsize if limits.cases == 1 else MOST_BYTES
        page = render_within(env, "report.html.j2", most, sections=SECTIONS, **values)
        if page is not None:
            return page
        limits = half_the_cases(limits, result)


def language_of(result: AnalysisResult) -> Lang:
    """Return the language that *result* was made in; Chinese where it does not say."""
    own = result.extras.get("promptlab")
    return "en" if isinstance(own, dict) and own.get("lang") == "en" else "zh"

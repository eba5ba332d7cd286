"""Templates: the Jinja environment, the links of a page, and the page of one task.

A template takes one object, such as ``result`` (the AnalysisResult, which is what
``result.json`` has), ``t(key, …)`` for a text of the catalogue, ``lang``, and the
filters of ``printing``. All output is escaped, and hidden characters are named,
without exception.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from jinja2 import (
    ChoiceLoader,
    Environment,
    FileSystemBytecodeCache,
    FileSystemLoader,
    PackageLoader,
    StrictUndefined,
    TemplateNotFound,
    TemplateSyntaxError,
)

from promptlab.contracts.analysis_result import AnalysisResult
from promptlab.errors import RenderError, SettingsError
from promptlab.paths import cache, languages
from promptlab.reports.cases import (
    Room,
    alike,
    case_anchor,
    change_state,
    common_tags,
    compared,
    evidence,
    expectations,
    is_share,
    question,
    versions,
    why,
)
from promptlab.reports.charts import axis_of
from promptlab.reports.diff import word_diff
from promptlab.reports.gate.headline import (
    headline,
    headline_parts,
    rule_form,
    rule_name,
)
from promptlab.reports.printing import Filters, visible
from promptlab.reports.sentences import Speech, baseline_reason
from promptlab.reports.texts import catalogue

# ---------- links to the files next to a page


PAGE = "report.html"
INDEX = "index.html"
MEMORY = "memory"
"""Folder of the figures of memory runs below the output folder."""


Href = Callable[[str], str | None]
"""Id of a task or a title to the link of its page, relative to the page that links to
it; ``None`` without such a page."""


@dataclass(frozen=True)
class Links:
    """Links of one page; ``None`` without a target."""

    index: str | None = None
    baseline: str | None = None
    """The baseline's report."""
    candidate: str | None = None
    """The candidate's report, from the page of a comparison."""
    result: str | None = None
    """The result as JSON."""
    memory: str | None = None
    """The figures of a memory run, from its report."""
    run: str | None = None
    """The report of a memory run, from its figures."""


NOWHERE = Links()
"""Return the links of a separate page, such as an attachment: none."""


# ---------- compiled templates


_OLD_S = 30 * 24 * 3600


def compiled_templates(lang: str, *, autoescape: bool) -> FileSystemBytecodeCache:
    """Return the compiled templates of a language.

    Whether texts are escaped is compiled into a template, so that a macro of pages and
    plain texts has two versions. Old caches of other versions are deleted; recent ones
    may be in use by another process.
    """
    kind = "markup" if autoescape else "text"
    folder = cache(f"templates/{lang}-{kind}-{_state_of_the_code()}")
    for other in folder.parent.iterdir():
        if time.time() - other.stat().st_mtime > _OLD_S and other != folder:
            shutil.rmtree(other, ignore_errors=True)
    return FileSystemBytecodeCache(str(folder))


def _state_of_the_code() -> str:
    package = Path(__file__).parent  # reports, including its texts
    digest = hashlib.sha256(str(package).encode())
    for file in sorted(package.rglob("*")):
        if file.suffix in {".py", ".toml"}:
            status = file.stat()
            digest.update(f"{file.name} {status.st_size} {status.st_mtime_ns}".encode())
    return digest.hexdigest()[:16]


# ---------- pages


SECTIONS = (
    "summary", "changes", "alerts", "dimensions", "prompt", "cases", "method"
)  # fmt: skip
"""Sections of the report in order, each ``sections/<name>.html.j2``."""

COMPARISON_SECTIONS = ("summary", "changes", "prompt", "cases", "method")
"""Sections of the page of a requested comparison."""

_BUILT_IN = Path(__file__).parent / "templates"

MOST_BYTES = 430_000
"""The room for the cases of a page; all of it is below 600 kB."""


@lru_cache(maxsize=8)
def environment(
    lang: str, templates: Path | None = None, *, autoescape: bool = True
) -> Environment:
    """Return the environment of all templates.

    Args:
        lang: Language of the texts, ``zh`` or ``en``.
        templates: Folder whose files replace the built-in ones of the same name.
        autoescape: False for the plain text of a mail, which is no markup; hidden
            characters are named there, too.

    Raises:
        UsageError: the language is unknown.
        SettingsError: *templates* is not a folder.
    """
    if not autoescape:
        return environment(lang, templates).overlay(
            autoescape=False, bytecode_cache=compiled_templates(lang, autoescape=False)
        )
    built_in = PackageLoader("promptlab.reports", "templates")
    if templates is not None and not templates.is_dir():
        raise SettingsError(f"templates: {templates} is not a folder")
    loaders = [FileSystemLoader(templates), built_in] if templates else [built_in]
    # autoescape=True, not select_autoescape(): that one leaves *.html.j2 unescaped.
    env = Environment(
        loader=ChoiceLoader(loaders),
        bytecode_cache=compiled_templates(lang, autoescape=True),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    texts = catalogue(lang)
    filters = Filters(texts)
    speech = Speech.for_language(lang)
    env.filters.update(filters.as_mapping(), why=partial(why, filters=filters))
    env.globals.update(
        t=speech.text,
        interval=filters.interval,
        anchor=case_anchor,
        axis_of=axis_of,
        diff=word_diff,
        is_share=is_share,
        question=question,
        expectations=expectations,
        versions=versions,
        alike=alike,
        evidence=evidence,
        compared=compared,
        change_state=change_state,
        common_tags=common_tags,
        headline_of=headline,
        headline_parts=headline_parts,
        rule_name=partial(rule_name, speech=speech),
        rule_form=rule_form,
        formed=speech.formed,
        baseline_reason=partial(baseline_reason, texts=texts),
        lang=lang,
        html_lang=texts.tag,
    )
    return env


def render(env: Environment, name: str, **values: Any) -> str:
    """Render the template *name*.

    Raises:
        SettingsError: a template of the user is invalid; names its file and line.
        RenderError: a built-in template failed; names its file and line.
    """
    try:
        return env.get_template(name).render(**values)
    except TemplateSyntaxError as error:
        place = f"{error.filename or error.name}:{error.lineno}"
        raise SettingsError(f"{place}: {error.message}") from error
    except Exception as error:
        frame = _frame(error)
        where = f"{frame.filename}:{frame.lineno}" if frame else name
        is_built_in = frame and Path(frame.filename).is_relative_to(_BUILT_IN)
        if isinstance(error, TemplateNotFound) or (frame and not is_built_in):
            raise SettingsError(f"{where}: {error}") from error
        raise RenderError(f"{where}: {type(error).__name__}: {error}") from error


def _shown(value: Any) -> Any:
    """Name the hidden characters of every text that a template prints."""
    return visible(value) if type(value) is str else value


def _frame(error: BaseException) -> traceback.FrameSummary | None:
    """Return the template's frame; Jinja gives its frames the template's file."""
    frames = traceback.extract_tb(error.__traceback__)
    frames_of_templates = [
        frame for frame in frames if not frame.filename.endswith((".py", ">"))
    ]
    return frames_of_templates[-1] if frames_of_templates else None


def to_html(
    result: AnalysisResult,
    *,
    lang: str | None = None,
    templates: Path | None = None,
    with_script: bool = True,
    links: Links = NOWHERE,
    sections: Sequence[str] = SECTIONS,
    template: str = "report.html.j2",
) -> str:
    """Return the full report as one self-contained page of less than 600 KB.

    Args:
        result: The result; ``case_results`` may be shortened.
        lang: Language of the texts; by default that of *result*.
        templates: Folder whose files replace the built-in ones of the same name.
        with_script: True to sort and filter cases; the page is complete without it.
            Mails have no script.
        links: Links of the page.
        sections: The sections of the page, from :data:`SECTIONS`.
        template: Name of the template.
    """
    env = environment(lang or language_of(result), templates)
    compared_cases = result.comparison.cases if result.comparison else []
    return render(
        env,
        template,
        result=result,
        sections=sections,
        links=links,
        script=script_hash(env) if with_script else None,
        changes={change.case_id: change for change in compared_cases},
        room=Room(MOST_BYTES),
    )


def script_hash(env: Environment, name: str = "report.js") -> str:
    """Return the source of a page's script for its content security policy.

    The script is rendered without any value, so nothing from a result can be in it;
    browsers block any other script on the page.
    """
    text = render(env, name)
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"


def language_of(result: AnalysisResult) -> str:
    """Return the language of *result*; English if unknown."""
    provenance = result.extras.get("promptlab")
    lang = provenance.get("lang") if isinstance(provenance, dict) else None
    return lang if isinstance(lang, str) and lang in languages() else "en"

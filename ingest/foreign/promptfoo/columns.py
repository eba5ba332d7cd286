"""The columns of a promptfoo file: providers, their settings, and prompts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from promptlab.ingest.foreign.casts import as_float, as_int, as_object, short_name
from promptlab.ingest.foreign.promptfoo.answers import ROW_SCORE
from promptlab.ingest.foreign.promptfoo.export import Prompt
from promptlab.ingest.foreign.writing import TaskWriter
from promptlab.ingest.foreign.yardstick import yardstick
from promptlab.json_text.writing import compact


class Column(Struct):
    """One prompt on one provider."""

    index: int
    provider: str
    prompt: Prompt
    task: TaskWriter
    """``<eval id>/<column>``."""


def column_names(prompt: Prompt, provider: str) -> tuple[str, str]:
    """Return the names of a column, which are the same in the head and in a row."""
    return provider, prompt.label or compact(prompt.raw)


def claim_totals(column: Column) -> None:
    """Hand over the number of rows of a column, and the mean of their scores.

    The file has their sum, in which an error counts 0. Sums of named scores are not
    used: some versions weight them, and the score includes them.
    """
    metrics, task = as_object(column.prompt.metrics), column.task
    statuses = ("Pass", "Fail", "Error")
    counts = [as_int(metrics.get(f"test{status}Count")) or 0 for status in statuses]
    total, n = as_float(metrics.get("score")), task.dimensions.n_values(ROW_SCORE)
    if metrics:
        means = {} if total is None or not n else {ROW_SCORE: total / n}
        task.claim(means, sum(counts) or None)


# ---------- providers


def provider_name(provider: Any) -> str:
    """Return the label or id of a provider, which may be an object or a text."""
    members = as_object(provider) or {"id": provider}
    name = members.get("label") or members.get("id")
    return name if isinstance(name, str) else "unknown"


_NOT_SETTINGS = ("id", "label", "prompts", "delay", "config")


def settings_by_name(providers: Any) -> dict[str, list[dict[str, Any]]]:
    """Return the settings of the providers of each name, without possible secrets."""
    by_name: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for provider in providers if isinstance(providers, list) else [providers]:
        members = {"id": provider} if isinstance(provider, str) else as_object(provider)
        if len(members) == 1 and "id" not in members:  # by id: {"openai:o3": {...}}
            ((provider_id, options),) = members.items()
            members = {"id": provider_id, **as_object(options)}
        name = members.get("label") or members.get("id")
        if isinstance(name, str):
            settings = {k: v for k, v in members.items() if k not in _NOT_SETTINGS}
            if name != members.get("id"):  # the model behind a label
                settings["provider"] = members.get("id")
            settings |= as_object(members.get("config"))
            by_name[name].append(yardstick(settings))
    return by_name


def distinct_name(
    name: str, settings: Mapping[str, Any], same_name: Sequence[Mapping[str, Any]]
) -> str | None:
    """Return a provider's name with the settings that others of its name lack.

    ``None`` if there are no such settings.

    Args:
        name: The name.
        settings: The settings of the provider.
        same_name: The settings of all providers of this name.
    """
    differing = [
        f"{key}={value if isinstance(value, str) else compact(value)}"
        for key, value in sorted(settings.items())
        if any(other.get(key) != value for other in same_name)
    ]
    if not differing:
        return None
    return short_name(" ".join(f"{name} ({', '.join(differing)})".split()), 120)


# ---------- prompts

_LONGEST_LABEL = 200


def prompt_name(prompt: Prompt) -> str | None:
    """Return the label, or of a prompt from a file the name of the file."""
    file = _file_label(prompt)
    if file is None:
        return short_name(prompt.label) or None
    name = re.split(r"[\\/]", file.rstrip().removesuffix(":"))[-1]
    # the author's label in `label: file`
    return short_name(re.sub(r"(?<=\S): [^\s/\\]+\.\w{1,5}$", "", name)) or None


def prompt_version(prompt: Prompt) -> str:
    """Return the label; if it contains the prompt, its name and promptfoo's hash."""
    name, label = prompt_name(prompt), short_name(prompt.label)
    short_id = (prompt.id or "")[:7]
    if name and short_id and label != name:
        return f"{name} {short_id}"
    return label or short_id or "unknown"


def prompt_filter(prompt: Prompt) -> dict[str, str]:
    """Return the label, or the start of a long one, for ``--filter-prompts``."""
    label, file = prompt.label or "", _file_label(prompt)
    if file is None and len(label) <= _LONGEST_LABEL:
        return {"prompt_label": label}
    return {"prompt_label_begins": file or label[:_LONGEST_LABEL]}


def _file_label(prompt: Prompt) -> str | None:
    """Return the label without the text of the prompt, which an edit would change.

    promptfoo labels a prompt from a file ``file: text``, and one without a label by its
    text. ``None`` for another label.
    """
    label, raw = prompt.label or "", prompt.raw
    if isinstance(raw, str) and raw and label.endswith(raw):
        return label.removesuffix(raw)
    return None

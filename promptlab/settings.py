"""Settings: options win over the environment, which wins over the config file.

The config file is ``promptlab.toml``, or the table ``[tool.promptlab]`` of a
``pyproject.toml``, in the working folder; ``--config`` names another.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    field_validator,
)

from promptlab.contracts.sources import SourcePath, TableMapping
from promptlab.errors import SettingsError, did_you_mean
from promptlab.paths import language_of, languages

ENV_PREFIX = "PROMPTLAB_"
ONLY_IN_FILES = frozenset(
    {"tables", "sources", "titles", "variants", "prices", "memory", "webhook_hosts"}
)
"""Settings that environment variables cannot set."""


class KnownFlaky(BaseModel):
    """A case that is known to be flaky: it is reported and does not refuse a run."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    case: str = Field(min_length=1)
    """Id of the case."""

    until: date
    """Last day (UTC) of the runs for which it is."""

    why: str | None = None
    """Reason, or the place where it is being worked on."""


class TitleSettings(BaseModel):
    """Names, scoring and exceptions of one title: ``[titles."Support"]``."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    primary: str | None = None
    """Dimension that is its score; else the first that the tool lists."""

    owner: str | None = None
    """Who looks after it; the index can be filtered by it."""

    alias: tuple[str, ...] = ()
    """Other titles whose results belong to this one, such as its title before."""

    known_flaky: tuple[KnownFlaky, ...] = ()
    """Cases that are reported and do not refuse a run, each until a day."""

    known_outage: tuple[str, ...] = ()
    """Ids of runs or tasks that are no history, since something else was down."""

    @field_validator("known_flaky", mode="before")
    @classmethod
    def _has_a_last_day(cls, value: object) -> object:
        for case in value if isinstance(value, (list, tuple)) else [value]:
            if isinstance(case, KnownFlaky):
                continue
            if not isinstance(case, dict) or not {"case", "until"} <= case.keys():
                raise ValueError(
                    "each case needs its id and the last day, such as"
                    ' [{case = "refund", until = 2026-12-31, why = "…"}]'
                )
        return value

    @field_validator("known_flaky")
    @classmethod
    def _has_one_day_per_case(
        cls, value: tuple[KnownFlaky, ...]
    ) -> tuple[KnownFlaky, ...]:
        cases = [case.case for case in value]
        for case in cases:
            if cases.count(case) > 1:
                raise ValueError(f"{case!r} has two last days; keep one")
        return value


class Price(BaseModel):
    """Price of a model: ``[prices."gpt-4o*"]``."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    input: float = Field(ge=0)
    """Price of a million input tokens."""

    output: float = Field(ge=0)
    """Price of a million output tokens."""


class MemorySettings(BaseModel):
    """How answers of memory benchmarks are judged: ``[memory]``."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    right_metric: (
        Literal[
            "locomo_f1",
            "token_f1",
            "exact_match",
            "contains_reference",
            "mem0_f1",
            "cmrc_f1",
            "chinese_match",
        ]
        | None
    ) = None
    """Metric that says whether an answer is right; the last two in Chinese runs."""

    right_threshold: float | None = Field(default=None, ge=0, le=1)
    """Score from which it is right; 0.5 when not given."""

    abstentions: tuple[Annotated[str, Field(min_length=1)], ...] = ()
    """More phrases by which Chinese answers say that something was not mentioned."""


class Settings(BaseModel):
    """Settings of every command."""

    model_config = ConfigDict(defer_build=True, frozen=True, extra="forbid")

    db: Path = Path("promptlab.duckdb")
    """The warehouse: a DuckDB file."""

    target: Literal["duckdb", "spark_local", "spark_connect", "spark_thrift"] = "duckdb"
    """Engine that the models run on; all but ``duckdb`` need the extra ``spark``."""

    raw: str | None = Field(default=None, pattern=r"^parquet://[^'`\s]+$")
    """Location of raw tables in Parquet: ``parquet://DIR``; else the warehouse."""

    out: Path = Path("out")
    """Folder for reports."""

    lang: str = Field(default_factory=lambda: language_of(os.environ))
    """Language of reports, and of what commands print; the locale's, else English."""

    templates: Path | None = None
    """Folder of templates that replace built-in ones of the same name."""

    policy: Path | None = None
    """Rules of the gate, TOML; ``promptlab-gate.toml``, else built-in ones, when not
    given."""

    lock_timeout: float = Field(default=60.0, ge=0)
    """Seconds to wait for a database that another process holds."""

    threads: int | None = Field(default=None, ge=1, le=256)
    """Threads of DuckDB, and models that dbt builds at a time; as many as there are
    cores, and 1, when not given."""

    memory_limit: str | None = None
    """DuckDB's memory limit, such as ``4GB`` or ``50%``: 100 MB at least, and no more
    than the machine has; 80 % of it when not given."""

    temp_directory: Path | None = None
    """Folder for DuckDB's temporary files; by default next to the warehouse."""

    redact: Literal["off", "on", "strict"] = "on"
    """Data that ingest replaces by a mark before storing anything: nothing, secrets, or
    secrets and personal data."""

    max_file_mb: int = Field(default=512, ge=1)
    """Largest JSON document, or table once it is unpacked, in MB; JSONL may have any
    size."""

    max_record_mb: int = Field(default=64, ge=1)
    """Largest record of a JSONL file, in MB."""

    max_string_mb: int = Field(default=16, ge=1)
    """Longest text inside a record, in MB."""

    max_depth: int = Field(default=500, ge=10, le=800)
    """Nesting depth of objects and lists; at most 800."""

    log_format: Literal["text", "json"] = "text"
    """Form of messages on stderr: sentences, or one JSON object per line."""

    smtp_host: str | None = None
    """Mail server that ``send`` hands mails to."""

    smtp_port: int | None = Field(default=None, ge=1, le=65535)
    """Its port; 587 for ``starttls``, 465 for ``tls``, 25 for ``none``."""

    smtp_security: Literal["starttls", "tls", "none"] = "starttls"
    """Encryption of the connection; ``none`` never sends a password."""

    smtp_user: str | None = None
    """Login name; its password is not a setting (``promptlab send --help``)."""

    smtp_password_file: Path | None = None
    """File of the password, readable by its owner alone."""

    smtp_ca_file: Path | None = None
    """Certificates to trust instead of the system's, PEM."""

    smtp_timeout: float = Field(default=30.0, gt=0)
    """Seconds to wait for an answer of the mail server."""

    mail_from: str | None = None
    """Address that mails come from."""

    report_url: str | None = Field(default=None, pattern=r"^https?://[^\s]+$")
    """URL at which the reports of ``out`` are served; mails and messages link
    there."""

    webhook_hosts: tuple[str, ...] = ()
    """Hosts that webhooks may lead to besides those of their services, in a config file
    (``docs/chat.md``)."""

    base_branch: str | None = None
    """Branch whose runs are the baselines of all; that of the CI system, else ``main``
    or ``master``, when not given."""

    sources: tuple[SourcePath, ...] = ()
    """Properties read from the paths of files, one ``[[sources]]`` each, in a config
    file (``docs/formats.md``)."""

    titles: dict[str, TitleSettings] = {}
    """Score, owner, other names, flaky cases and outages of a title,
    ``[titles."<title>"]`` each, in a config file (``docs/runs.md``)."""

    variants: dict[str, str] = {}
    """Variants that were renamed, old name = new name, in a config file
    (``docs/runs.md``)."""

    prices: dict[str, Price] = {}
    """Prices of models by name, ``*`` for any letters, in a config file
    (``docs/runs.md``)."""

    memory: MemorySettings = Field(default_factory=MemorySettings)
    """Metric, threshold and phrases of memory benchmarks, ``[memory]``, in a config
    file (``docs/numbers.md``)."""

    prompt_vars: tuple[str, ...] = ()
    """Variables of promptfoo tests that are a part of the prompt, such as a system
    prompt."""

    tag_keys: tuple[str, ...] | None = None
    """Keys of the metadata of samples and tests whose values become tags; keys with few
    different texts, when not given."""

    tables: dict[str, TableMapping] = {}
    """Mappings of table columns, one ``[tables.<name>]`` each, in a config file
    (``docs/tools/table.md``)."""

    _file: Path | None = PrivateAttr(None)

    @property
    def file(self) -> Path | None:
        """The config file that was read."""
        return self._file

    @field_validator("lang")
    @classmethod
    def _has_texts(cls, value: str) -> str:
        if value not in languages():
            raise ValueError(f"the languages are {', '.join(languages())}")
        return value

    @field_validator("titles")
    @classmethod
    def _has_one_title_per_alias(
        cls, value: dict[str, TitleSettings]
    ) -> dict[str, TitleSettings]:
        aliases = [
            alias for title_settings in value.values() for alias in title_settings.alias
        ]
        for alias in aliases:
            if aliases.count(alias) > 1 or (alias in value and value[alias].alias):
                raise ValueError(f"{alias!r} is an alias of one title, and no title")
        return value

    @field_validator("variants")
    @classmethod
    def _renames_once(cls, value: dict[str, str]) -> dict[str, str]:
        for old, new in value.items():
            if new in value and new != old:
                raise ValueError(f"{new!r} is an old name too; write the last name")
        return value

    @field_validator("memory_limit")
    @classmethod
    def _fits_the_machine(cls, value: str | None) -> str | None:
        """Check the minimum; with less, DuckDB starts but fails during a build."""
        if value is None:
            return None
        size = re.fullmatch(r"([0-9.]+)\s*(%|[kmgt]i?b?)", value.strip(), re.IGNORECASE)
        if size is None:
            raise ValueError("a size is a number with its unit, such as 4GB or 50%")
        memory = _memory_of_the_machine()
        unit = size[2].lower().rstrip("b")
        n_bytes = float(size[1]) * (_UNITS[unit] if unit != "%" else memory / 100)
        if not _LEAST_MEMORY <= n_bytes <= memory:
            raise ValueError(
                f"between 100 MB and the {memory / 1e9:,.1f} GB of this machine"
            )
        return value


_LEAST_MEMORY = 100_000_000
_UNITS = {
    **{unit: 1000**n for n, unit in enumerate("kmgt", 1)},
    **{f"{unit}i": 1024**n for n, unit in enumerate("kmgt", 1)},
}


_TABLES: dict[str, type[BaseModel]] = {
    "sources": SourcePath,
    "titles": TitleSettings,
    "known_flaky": KnownFlaky,
    "prices": Price,
    "memory": MemorySettings,
}
"""Settings that are tables → the keys of each."""


def _memory_of_the_machine() -> float:
    """Return the bytes of memory; infinite if unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return float("inf")


def load_settings(
    options: Mapping[str, Any],
    *,
    config: Path | None = None,
    environ: Mapping[str, str] = os.environ,
    folder: Path | None = None,
) -> Settings:
    """Load settings from options that are not ``None``, environment, config file.

    Raises:
        SettingsError: a file that cannot be read, an unknown key, a wrong value.
    """
    file = config or _config_file(folder or Path.cwd())
    values: dict[str, Any] = {}
    origin: dict[str, str] = {}
    for name, layer in (
        *([] if file is None else [(str(file), _config_of(file))]),
        *_environment_layer(environ),
        ("option", {k: v for k, v in options.items() if v is not None}),
    ):
        values.update(layer)
        origin.update(dict.fromkeys(layer, name))
    try:
        settings = Settings(**values)
    except ValidationError as error:
        raise SettingsError(_explain(error, origin)) from None
    settings._file = file
    return settings


def _config_file(folder: Path) -> Path | None:
    """Return the config file of a folder."""
    own_config, shared_config = folder / "promptlab.toml", folder / "pyproject.toml"
    if own_config.is_file():
        return own_config
    if shared_config.is_file() and "promptlab" in _read_toml(shared_config).get(
        "tool", {}
    ):
        return shared_config
    return None


def _config_of(file: Path) -> dict[str, Any]:
    table = _read_toml(file)
    if file.name == "pyproject.toml":
        table = table.get("tool", {}).get("promptlab", {})
    return table


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        raise SettingsError(f"{path}: there is no such config file") from None
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: is not UTF-8: save it as UTF-8") from None
    except (OSError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{path}: cannot be read as TOML: {error}") from None


def _environment_layer(
    environ: Mapping[str, str],
) -> list[tuple[str, dict[str, Any]]]:
    return [
        (ENV_PREFIX + name.upper(), {name: environ[ENV_PREFIX + name.upper()]})
        for name in Settings.model_fields
        if name not in ONLY_IN_FILES and environ.get(ENV_PREFIX + name.upper())
    ]


def _explain(error: ValidationError, origin: Mapping[str, str]) -> str:
    lines = []
    for detail in error.errors():
        name = ".".join(map(str, detail["loc"]))
        top, last = str(detail["loc"][0]), str(detail["loc"][-1])
        where = origin.get(top, "settings")
        if detail["type"] == "extra_forbidden":
            tables = [_TABLES[key] for key in map(str, detail["loc"]) if key in _TABLES]
            model = tables[-1] if tables else TableMapping
            fields = Settings if top == name else model
            hint = did_you_mean(last, fields.model_fields)
            lines.append(f"{where}: there is no setting `{name}`{hint}")
        else:
            message = detail["msg"].removeprefix("Value error, ")
            lines.append(f"{where}: {name}: {message}, found {detail['input']!r}")
    return "\n".join(lines)

"""Every error that promptlab raises on purpose.

- PromptlabError
  x SettingsError        config, option or environment is wrong         exit 2
  x UsageError           the call itself makes no sense                 exit 2
  x InputError           a file or record could not be read             exit 3
  x NothingToDo          no file, no task, no such id                   exit 5
  x WarehouseError       the database file: missing, foreign, locked    exit 70
    - DatabaseLocked
  x BuildError           dbt stopped; names the failed nodes            exit 70
  x RenderError          a page could not be made; the others are       exit 70
  x MailError            the mail server did not take the mail          exit 70

A message is for the person at the terminal: what was found, what was expected, one fix.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class PromptlabError(Exception):
    """Base of all; ``exit_code`` is what the command line returns for it."""

    exit_code = 70


class SettingsError(PromptlabError):
    """A setting from option, environment or config file cannot be used."""

    exit_code = 2


class UsageError(PromptlabError):
    """The call makes no sense as it stands."""

    exit_code = 2


class InputError(PromptlabError):
    """A file or a record could not be read."""

    exit_code = 3


class NothingToDo(PromptlabError):
    """There is nothing that the call could work on."""

    exit_code = 5


class WarehouseError(PromptlabError):
    """The database file cannot be used as a warehouse."""


class DatabaseLocked(WarehouseError):
    """Another process holds the database file."""


class RenderError(PromptlabError):
    """A report could not be rendered, through no fault of the user."""


class MailError(PromptlabError):
    """The mail server could not be reached, or did not take the mail."""


class BuildError(PromptlabError):
    """Dbt did not finish; the message names the nodes that failed."""


def did_you_mean(wrong: str, known: Iterable[str]) -> str:
    """A clause for the end of a message; empty where nothing known is near."""
    folded = {name.casefold(): name for name in known}
    near = get_close_matches(wrong.casefold(), folded, n=1)
    return f"; did you mean `{folded[near[0]]}`?" if near else ""

"""Values under secret keys in YAML, where they need no quotes."""

from __future__ import annotations

import re

from promptlab.ingest.files.secret_values import MARK, WHOLE, WORDS, is_secret

MAX_YAML_BYTES = 2 << 20
"""Maximum size of YAML; PyYAML needs seconds for more, and pipelines are smaller."""

_YAML_SECRET = re.compile(
    rf"^([ \t]*(?:-[ \t]+)*[\"']?([\w.-]*{WORDS}|{WHOLE})[\"']?"
    r":[ \t]+)([^\s|>{#][^\n\r]*)".encode(),
    re.IGNORECASE | re.MULTILINE,
)
_YAML_KEY = re.compile(rf"[\w.-]*(?:{WORDS})|{WHOLE}", re.IGNORECASE)
_NO_SECRETS_OF_YAML = {"tag:yaml.org,2002:null", "tag:yaml.org,2002:bool"}
_ANCHOR = re.compile(r"(?:!\S*\s+)?(&\S+\s+)?(?:!\S*\s+)?")


def _values_of_yaml(text: str) -> list[tuple[int, int]] | None:
    """Return the places of texts, numbers and lists under secret keys, in order.

    Returns:
        Start and end in characters; ``None`` if it cannot be parsed, or is too large.
    """
    import yaml

    if len(text) > MAX_YAML_BYTES:
        return None
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError):
        return None
    places: set[tuple[int, int]] = set()
    waiting = [(root, False)] if root is not None else []
    visited = set()
    while waiting:
        node, is_secret_here = waiting.pop()
        if (id(node), is_secret_here) in visited:  # an alias
            continue
        visited.add((id(node), is_secret_here))
        if isinstance(node, yaml.SequenceNode):
            waiting += [(item, is_secret_here) for item in node.value]
        elif isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                is_its_value = is_secret_here and key.value == "value"
                is_secret_key = _is_secret_in_yaml(str(key.value))
                waiting += [(key, False), (value, is_secret_key or is_its_value)]
        elif is_secret_here and node.value and node.tag not in _NO_SECRETS_OF_YAML:
            places.add((node.start_mark.index, node.end_mark.index))
    return sorted(places)


def _is_secret_in_yaml(key: str) -> bool:
    return bool(_YAML_KEY.fullmatch(key)) and is_secret(key.encode())


def without_secrets(data: bytes) -> tuple[bytes, int]:
    """Return the text with a mark in place of each value of a secret key; their number.

    Line by line if it is not valid YAML, or too large.
    """
    text = data.decode("utf-8", "surrogateescape")
    places = _values_of_yaml(text)
    if places is None:
        return _without_secrets_of_lines(data)
    pieces, position, n_secrets = [], 0, 0
    for start, end in places:
        value = text[start:end].rstrip()  # a block ends where the next key begins
        if start < position or MARK.fullmatch(value.strip("\"'").encode()):
            continue
        n_secrets += 1
        anchor = (_ANCHOR.match(value) or [""])[1] or ""
        lines = "\n" * (value.count("\n") - anchor.count("\n"))
        pieces += [text[position:start], f'{anchor}"[redacted:secret]"{lines}']
        position = start + len(value)
    redacted = "".join([*pieces, text[position:]])
    return redacted.encode("utf-8", "surrogateescape"), n_secrets


def _without_secrets_of_lines(data: bytes) -> tuple[bytes, int]:
    n_secrets = 0

    def mark(match: re.Match[bytes]) -> bytes:
        nonlocal n_secrets
        if not is_secret(match[2]):
            return match[0]
        n_secrets += 1
        return match[1] + b'"[redacted:secret]"'

    return _YAML_SECRET.sub(mark, data), n_secrets

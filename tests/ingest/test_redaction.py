"""Secrets and personal data are replaced before anything is stored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from promptlab.ingest.files.redaction import RULES, Redactor
from promptlab.settings import Settings
from promptlab.warehouse import Warehouse
from tests.ingest.test_load import query, task, write


def redact(text: str, mode: str = "strict", *, is_yaml: bool = False) -> str:
    return Redactor(mode, yaml=is_yaml).redact(text.encode()).decode()


def redacted_text(text: str, mode: str = "strict") -> str:
    """Return the redaction of one text, written like ``json.dumps``."""
    return json.loads(redact(json.dumps({"t": text}, ensure_ascii=False), mode))["t"]


_JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln"
_PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEow\nabc+/=\n-----END RSA PRIVATE KEY-----"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("key sk-proj-abcdefghij1234567890", "key [redacted:api_key]"),
        ("line\nsk-abcdefghij1234567890", "line\n[redacted:api_key]"),
        ("key sk-abcdefghijKLMNOPqrstUVWXyz.", "key [redacted:api_key]."),
        ("sk-proj-abcdefghijklmnopqrstuvwxyz", "[redacted:api_key]"),
        ("AKIAIOSFODNN7EXAMPLE", "[redacted:api_key]"),
        ("ghp_0123456789abcdefghijABCDEFGHIJ012345", "[redacted:api_key]"),
        (f"a {_JWT} b", "a [redacted:jwt] b"),
        (f"x\n{_PEM}\ny", "x\n[redacted:private_key]\ny"),
        (_PEM[:60], "[redacted:private_key]"),
        ("Authorization: Bearer abcdef0123456789", "Authorization: Bearer [redacted:bearer]"),
        ("postgres://u:p4ss@db/x", "postgres://u:[redacted:url_password]@db/x"),
        ("curl -d password=hunter2&x=1", "curl -d password=[redacted:secret]&x=1"),
        ("write to a.b+c@example.co.uk.", "write to [redacted:email]."),
        ("致 张@例子 x@a.cn，谢谢", "致 张@例子 [redacted:email]，谢谢"),
        ("打13812345678，或 138-1234-5678", "打[redacted:phone]，或 [redacted:phone]"),
        ("+86 138 1234 5678 / +44 20 7946 0958", "[redacted:phone] / [redacted:phone]"),
        ("身份证11010519491231002X。", "身份证[redacted:id_card]。"),
        ("in /home/alice/x and \\home", "in /home/[redacted:home]/x and \\home"),
        ("/Users/bob", "/Users/[redacted:home]"),
        ("C:\\Users\\eve\\x", "C:\\Users\\[redacted:home]\\x"),
    ],
)  # fmt: skip
def test_a_value_that_a_rule_names_becomes_a_mark(text, expected):
    assert redacted_text(text) == expected
    nested = json.dumps({"inner": text}, ensure_ascii=False)
    assert json.loads(redacted_text(nested)) == {"inner": expected}


@pytest.mark.parametrize(
    "text",
    [
        "risk-assessment-of-everything-2024",
        "sk-learn-model-selection and sk-internationalization",
        "the basic responsibilities of a bearer",
        "11010519491231002" + "1",  # wrong check digit
        "1700000000000 2024-10-24 12345678901 0.13812345678 13812345678.5",
        "https://example.com/home/page a@b {{ x@y }}",
        "id 00013812345678 order138123456789",
        "max_tokens: 100, password policy: at least 8",
    ],
)
def test_what_only_looks_like_one_stays(text):
    assert redacted_text(text) == text


@pytest.mark.parametrize(
    "key",
    ["password", "Password", "db_password", "token", "access_token", "accessToken",
     "api_key", "apiKey", "x-api-key", "Authorization", "client_secret", "SECRET_KEY",
     "private_key", "cookie", "credentials"],
)  # fmt: skip
def test_the_text_under_a_secret_key_is_replaced_at_any_depth(key):
    record = {"a": {key: 'hun"ter\\2', "n": 1}, "raw_output": json.dumps({key: 'x"y'})}
    twice = json.dumps({"inner": json.dumps(record)})
    found = json.loads(redact(json.dumps(record), "on"))
    assert found["a"] == {key: "[redacted:secret]", "n": 1}
    assert json.loads(found["raw_output"]) == {key: "[redacted:secret]"}
    inner = json.loads(json.loads(redact(twice, "on"))["inner"])
    assert inner["a"][key] == "[redacted:secret]"


@pytest.mark.parametrize(
    "record",
    [
        {"input_tokens": 5, "output_tokens": "7", "eos_token_count": "3"},
        {"token": 12, "password": None, "secret": "", "tokenizer": "cl100k"},
        {"keyboard": "qwerty", "author": "x", "monkey": "y", "passwords_seen": "3"},
    ],
)
def test_keys_that_only_sound_secret_and_values_that_are_no_text_stay(record):
    assert json.loads(redact(json.dumps(record))) == record


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ('{"p":13812345678}', {"p": "[redacted:phone]"}),
        ('{"p": [13812345678 , 1]}', {"p": ["[redacted:phone]", 1]}),
        ('{"p":0.13812345678,"q":-13812345678}', {"p": 0.13812345678, "q": -13812345678}),
        ('{"p":"\\u0041","m":"a\\u0040b.cn"}', {"p": "A", "m": "[redacted:email]"}),
        ('{"h":"\\/home\\/alice\\/x"}', {"h": "/home/[redacted:home]/x"}),
        ('{"t":"<\\u003ca@b.cn\\u003e"}', {"t": "<<[redacted:email]>"}),
    ],
)  # fmt: skip
def test_numbers_and_escapes_leave_json_that_can_be_read(written, value):
    assert json.loads(redact(written)) == value


def test_yaml_stays_yaml():
    text = (
        "id: p\napi_key: hunter2\nowner: a@b.cn\nphone: 13812345678\n"
        "steps:\n  - id: s\n    note: ask a@b.cn first\n"
    )
    assert yaml.safe_load(redact(text, is_yaml=True)) == {
        "id": "p",
        "api_key": "[redacted:secret]",
        "owner": "[redacted:email]",
        "phone": "[redacted:phone]",
        "steps": [{"id": "s", "note": "ask [redacted:email] first"}],
    }


MARK = "[redacted:secret]"

SECRETS_OF_YAML = [
    ("auth: {api_key: hunter2, base: x}", {"auth": {"api_key": MARK, "base": "x"}}),
    ("db_password: >-\n  hunter2\n  hunter2\nid: p", {"db_password": MARK, "id": "p"}),
    ("m:\n  api_key: |\n    hunter2\nid: p", {"m": {"api_key": MARK}, "id": "p"}),
    ("passwords:\n  - hunter2\n  - [hunter2, 7]", {"passwords": [MARK, [MARK, MARK]]}),
    ("client_secret:\n  hunter2", {"client_secret": MARK}),
    ("token : hunter2 # why", {"token": MARK}),
    ("'password': \"hunter2\"", {"password": MARK}),
    ("a: &x hunter2\npassword: *x", {"a": MARK, "password": MARK}),
    ("password: !!str &x hunter2\na: *x", {"a": MARK, "password": MARK}),
    ("l: &x [*x, {token: hunter2}]", None),
    ("password: hunter2\nbroken: [", None),
    (
        "secrets:\n  - {user: u, token: hunter2}",
        {"secrets": [{"user": "u", "token": MARK}]},
    ),
    (
        "max_tokens: 5\npassword:\nsecret: false\ntoken: ''",
        {"max_tokens": 5, "password": None, "secret": False, "token": ""},
    ),
]


@pytest.mark.parametrize(("text", "value"), SECRETS_OF_YAML)
def test_secrets_of_yaml_are_redacted_in_every_form(text: str, value: object) -> None:
    redacted = redact(text, "on", is_yaml=True)
    assert "hunter2" not in redacted
    assert redacted.count("\n") == text.count("\n")
    assert redact(redacted, "on", is_yaml=True) == redacted
    if value is not None:
        assert yaml.safe_load(redacted) == value


def test_secrets_alone_go_where_the_mode_is_on_and_nothing_where_it_is_off():
    text = '{"token":"x","mail":"a@b.cn"}'
    assert redact(text, "on") == '{"token":"[redacted:secret]","mail":"a@b.cn"}'
    assert redact(text, "off") == text


_PIECES = st.sampled_from(
    ["a@b.cn", "13812345678", "11010519491231002X", "/home/x", "\\", '"', "\n", "\\n",
     "sk-abcdefghij1234567890", "Bearer abcdef0123456789", _PEM, _JWT, "password=",
     "{", "[", ":", ",", " ", "é", "\u2028", "C:\\Users\\x", "http://u:p@h", "+4420794609"]
)  # fmt: skip
_TEXT = st.lists(st.one_of(_PIECES, st.text(max_size=3)), max_size=8).map("".join)
_VALUE = st.recursive(
    st.one_of(_TEXT, st.integers(), st.floats(allow_nan=False), st.just(13812345678)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.sampled_from(["password", "token", "a", "b"]), inner),
        inner.map(json.dumps),
    ),
    max_leaves=8,
)


@given(_VALUE, st.booleans())
def test_json_stays_json_and_keeps_its_lines(value, ascii_):
    written = json.dumps(value, ensure_ascii=ascii_, indent=1)
    once = redact(written)
    json.loads(once)
    assert once.count("\n") == written.count("\n")


def test_nothing_that_is_stored_has_the_value(tmp_path):
    secret = "sk-abcdefghij1234567890"
    good = task(answer=f"use {secret}")
    good["cases"][0]["context"] = {"password": "hunter2"}
    bad = f'{{"id":"a","x":"{secret}","x":1}}\n{{"id":"b","expected":"{secret}"}}'
    write(tmp_path / "in" / "a.json", good)
    write(tmp_path / "in" / "b.jsonl", bad)
    warehouse = Warehouse(tmp_path / "w.duckdb")
    ingested = warehouse.ingest(tmp_path / "in")
    assert ingested.redacted == {"api_key": 3, "secret": 1}
    assert query(
        warehouse, "select rule, sum(n_values) from raw.redactions group by 1 order by 1"
    ) == [("api_key", 3), ("secret", 1)]  # fmt: skip
    assert secret.encode() not in (tmp_path / "w.duckdb").read_bytes()
    for (table,) in query(
        warehouse, "select table_name from duckdb_tables() where schema_name = 'raw'"
    ):
        rows = query(warehouse, f"select * from raw.{table}")
        assert secret not in repr(rows)
        assert "hunter2" not in repr(rows)
    warnings = [p.code for f in ingested.files for p in f.problems]
    assert "redacted_expectation" in warnings


def test_another_mode_is_another_version_of_the_file(tmp_path):
    file = write(tmp_path / "a.json", task(answer="mail a@b.cn"))
    answers = []
    for mode in ("on", "strict", "strict", "on"):
        settings = Settings(redact=mode)
        warehouse = Warehouse(tmp_path / "w.duckdb", settings=settings)
        loaded = warehouse.ingest(file).n_loaded
        (row,) = query(warehouse, "select raw_output from live.rounds")
        answers.append((loaded, *row))
    assert answers == [
        (1, "mail a@b.cn"),
        (1, "mail [redacted:email]"),
        (0, "mail [redacted:email]"),
        (1, "mail a@b.cn"),
    ]
    hashes = query(warehouse, "select count(distinct sha256) from raw.loads")
    assert hashes == [(1,)]  # of the file's own bytes


def test_every_rule_is_described():
    text = (Path(__file__).parents[2] / "docs" / "privacy.md").read_text("utf-8")
    assert [rule.name for rule in RULES if f"`{rule.name}`" not in text] == []

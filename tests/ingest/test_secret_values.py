"""Values under secret keys, by the table of docs/privacy.md and in every form."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import shlex
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from promptlab.ingest.files.redaction import Redactor

PAGE = (Path(__file__).parents[2] / "docs" / "privacy.md").read_text("utf-8")
_SECTION, _, _FORMS = PAGE.partition("### Secret keys")[2].partition("### Forms of")
_TABLE, _, _STAY = _SECTION.partition("These are not replaced:")
SECRET = [
    key
    for row in re.findall(r"^\|.*\|.*\|(.*)\|$", _TABLE, re.MULTILINE)
    for key in re.findall("`([^`]+)`", row)
]
OTHERS = re.findall("`([^`]+)`", _STAY.partition("\nNor are")[0])
HEADERS = {"authorization", "proxy-authorization", "cookie", "set-cookie"}

MARK = "[redacted:secret]"
VALUE = 'ZSECRET, it\'s "1" & more; [x] \\n {y}'
PLAIN = "ZSECRET-1/+="


def redact(text: str, *, is_yaml: bool = False) -> str:
    return Redactor("on", yaml=is_yaml).redact(text.encode()).decode()


def _json(key, value):
    record = {"before": 1, "a": [{key: value, "n": "x"}]}
    for written in (json.dumps(record), json.dumps(record, indent=1)):
        found = json.loads(redact(written))
        assert (found["before"], found["a"][0]["n"]) == (1, "x")
    return found["a"][0][key]


def _json_in_json(key, value):
    text = json.dumps({"a": json.dumps({"b": json.dumps({key: value, "n": "x"})})})
    found = json.loads(json.loads(json.loads(redact(text))["a"])["b"])
    assert found["n"] == "x"
    return found[key]


def _csv(text):
    """A file of one row with this cell, redacted and read again."""
    file = io.StringIO()
    csv.writer(file).writerows([["id", "cell", "n"], ["1", text, "x"]])
    _, (first, cell, last) = csv.reader(io.StringIO(redact(file.getvalue())))
    assert (first, last) == ("1", "x")
    return cell


def _json_in_csv(key, value):
    found = json.loads(_csv(json.dumps({key: value, "n": "x"})))
    assert found["n"] == "x"
    return found[key]


def _python(key, value):
    found = ast.literal_eval(redact(repr({"user": "bob", key: value, "n": "x"})))
    assert (found["user"], found["n"]) == ("bob", "x")
    return found[key]


def _python_in_csv(key, value):
    return ast.literal_eval(_csv(repr({"user": "bob", key: value})))[key]


def _python_in_json(key, value):
    text = json.dumps({"t": repr({"user": "bob", key: value, "n": "x"})})
    found = ast.literal_eval(json.loads(redact(text))["t"])
    assert found["n"] == "x"
    return found[key]


FORMS = [_json, _json_in_json, _json_in_csv, _python, _python_in_csv, _python_in_json]


def _same(value):
    return [value] if isinstance(value, list | tuple) else value


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("key", SECRET)
def test_a_value_under_a_secret_key_is_replaced(key, form):
    assert form(key, PLAIN) == MARK
    assert form(key, 87654321999) == MARK
    assert form(key, -1234567.5) == MARK
    assert form(key, [PLAIN, PLAIN]) == [MARK]
    assert form(key, [[PLAIN], 5, None]) == [MARK]
    for kept in (None, "", [], {"type": "string"}, [{"type": "x"}], MARK, [MARK]):
        assert form(key, kept) == kept
    for kept in (True, False):
        assert form(key, kept) is kept


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("key", OTHERS)
def test_a_value_under_another_key_stays(key, form):
    for kept in (PLAIN, 512, 87654321999, [1, 2], ["a"], 0.25, None, "a", True):
        assert form(key, kept) == kept


@pytest.mark.parametrize("form", [_json, _json_in_json, _json_in_csv])
@pytest.mark.parametrize("value", [VALUE, "'", '"', "\\", "''", '""', "a\nb", "é🔑"])
def test_a_value_of_any_signs_is_replaced_whole(value, form):
    assert form("password", value) == MARK
    assert form("password", [value, "b"]) == [MARK]


@pytest.mark.parametrize("form", [_python_in_csv, _python_in_json])
@pytest.mark.parametrize("value", ["it's", 'a "b" c', "a\\b", "a, b}", "é🔑", b"bytes"])
def test_a_python_value_of_any_signs_is_replaced_whole(value, form):
    assert form("password", value) in (MARK, MARK.encode())


def _is_word(key):
    return key.lower() not in HEADERS


@pytest.mark.parametrize("key", list(filter(_is_word, SECRET)))
def test_what_follows_a_secret_name_and_an_equals_sign_is_replaced(key):
    for line, expected in (
        (f"export {key}={PLAIN} next", f"export {key}={MARK} next"),
        (f'{key}="a b {PLAIN}" next', f'{key}="{MARK}" next'),
        (f"{key}='a b {PLAIN}' next", f"{key}='{MARK}' next"),
        (f"run --{key}={PLAIN};x", f"run --{key}={MARK};x"),
        (f"Server=a;{key}={PLAIN};b=c", f"Server=a;{key}={MARK};b=c"),
        (f"a\n{key}=12345678\nb", f"a\n{key}={MARK}\nb"),
        (f"{key} = {PLAIN}; {key}=={PLAIN}", f"{key} = {MARK}; {key}=={PLAIN}"),
    ):
        assert redact(line) == expected
        assert json.loads(redact(json.dumps({"t": line}))) == {"t": expected}
        nested = json.dumps({"t": json.dumps({"u": line})})
        assert json.loads(json.loads(redact(nested))["t"]) == {"u": expected}
        assert _csv(line) == expected
    url = urlsplit(redact(f"https://a.b/c?x=1&{key}=ZSECRET&y=2#z"))
    assert parse_qs(url.query) == {"x": ["1"], key: [MARK], "y": ["2"]}
    assert shlex.split(redact(f"{key}='a b' c")) == [f"{key}={MARK}", "c"]


@pytest.mark.parametrize("key", OTHERS)
def test_what_follows_another_name_and_an_equals_sign_stays(key):
    for line in (f"{key}=512", f"{key}=abc", f'{key}="a b"', f"f({key}='a', b=1)"):
        assert redact(line) == line


@pytest.mark.parametrize("key", list(filter(_is_word, SECRET)))
def test_a_value_in_yaml_is_replaced(key):
    text = f"id: p\n{key}: {PLAIN}\nlist:\n  - {key}: 12345678\n    n: x\nl:\n  {key}: [a, b]\n"
    text += f"o:\n  {key}:\n    value: {PLAIN}\n    n: x\n"
    assert yaml.safe_load(redact(text, is_yaml=True)) == {
        "id": "p", key: MARK, "list": [{key: MARK, "n": "x"}], "l": {key: [MARK, MARK]},
        "o": {key: {"value": MARK, "n": "x"}},
    }  # fmt: skip


@pytest.mark.parametrize("key", OTHERS)
def test_other_keys_of_yaml_stay(key):
    text = f"id: p\n{key}: 512\nlist:\n  - {key}: abc\n"
    assert redact(text, is_yaml=True) == text


WRITTEN = re.findall(r"^\|[^|]*\| `(.*)` \| `(.*)` \|$", _FORMS, re.MULTILINE)


def assert_stored(text, expected):
    """Check a text by itself, in the middle of lines, and in every kind of file."""
    assert redact(text) == expected
    assert redact(expected) == expected
    lines = f"first\n{text}\nlast"
    for whole, stored in ((text, expected), (lines, f"first\n{expected}\nlast")):
        assert redact(whole) == stored
        for ascii_ in (False, True):
            written = json.dumps({"t": whole, "n": 1}, ensure_ascii=ascii_)
            assert json.loads(redact(written)) == {"t": stored, "n": 1}
            nested = json.dumps({"t": written}, ensure_ascii=ascii_)
            inner = json.loads(json.loads(redact(nested))["t"])
            assert inner == {"t": stored, "n": 1}
        assert _csv(whole) == stored


def test_the_page_lists_the_forms():
    assert len(WRITTEN) >= 20
    assert all("[redacted:secret]" in stored for _, stored in WRITTEN)


@pytest.mark.parametrize(("text", "expected"), WRITTEN)
def test_every_form_of_the_page_is_replaced(text, expected):
    assert_stored(text, expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[db]\npassword=Hunt3r\nuser=a", "[db]\npassword=*\nuser=a"),
        ("password＝Hunt3rPW", "password＝*"),
        ("口令: Hunt3rPW。", "口令: *。"),
        ("令牌=Hunt3rPW", "令牌=*"),
        ("Set-Cookie: sid=Hunt3rPW; Path=/", "Set-Cookie: *"),
        ("('Authorization', 'Hunter PW')", "('Authorization', '*')"),
        ('[["X-Api-Key","Hunt3rPW"],["a","b"]]', '[["X-Api-Key","*"],["a","b"]]'),
        ("{'name': 'Cookie', 'value': 'a=b'}", "{'name': 'Cookie', 'value': '*'}"),
        ("curl --user=bob:pw https://x", "curl --user=bob:* https://x"),
        ("curl -u 'bob:p w1'", "curl -u 'bob:* w1'"),
        ("steps:\n  - api_key: Hunt3rPW # why", "steps:\n  - api_key: * # why"),
        ("<apiKey>Hunter PW</apiKey>", "<apiKey>*</apiKey>"),
        ("npm_AbCdEfGhIjKlMnOpQrStUvWxYz1234567890", "[redacted:api_key]"),
        ("AKLTYTlkZjE2NWMwZjQ5NDk3ODg1MDM", "[redacted:api_key]"),
    ],
)
def test_more_of_each_form_is_replaced(text, expected):
    assert_stored(text, expected.replace("*", MARK))


@pytest.mark.parametrize(
    "text",
    [
        # code
        "token = next_token", "token = tokens[0]", "password = None",
        "password = input('Your password?')", "api_key = os.environ['KEY_2024']",
        "secret = config.secret", "token = 'the'", "if token == '': pass",
        "password = getpass(prompt=2)", "token => value1", "password: str = ''",
        "api_key: Optional[str] = None", "def f(password: str, token: int): ...",
        "const password = form.password", "token = 5",
        # types, placeholders, help texts
        "password: string", "password: required", "api_key: ${API_KEY_2}",
        "api_key: <your-key-1>", "token: {{ token1 }}", "secret: |", "password: ******"[:12],
        "--password PASSWORD", "--token <token>", "use --password to log in",
        "the option --password is needed", "password: at least 8 characters",
        '{"required": ["password", "email"]}', '["token", "word"]',
        '["password", "email", "phone1234"]', '{"name": "password", "type": "text1234"}',
        '{"name": "city", "value": "Paris2024"}', '{"name": "token", "value": "word"}',
        "docker run -u 1000:1000 x", "sort -u a:b"[:7], "python -u run.py",
        "<token>word</token>", "<password/>", "<b>password</b> 123456",
        # prose
        "密码：至少8位，含数字", "请输入密码。", "密码是什么？", "令牌：无",
        '{"密码": "不能为空2024"}', "忘记密码: https"[:6],
        "my password: hunter2", "Cookie: a small biscuit", "the cookie: a=b",
        "secret: yes", "Token: 5 of 10", "the token 12345678 is a word",
    ],
)  # fmt: skip
def test_what_only_looks_like_such_a_form_stays(text):
    assert_stored(text, text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("redis://:PW@host:6379/0", "redis://:*@host:6379/0"),
        ("rediss://default:PW@host", "rediss://default:*@host"),
        ("postgres://u:abc@PW@host/db", "postgres://u:*@host/db"),
        ("postgres://u:a@b@c@host/db?x=a@b", "postgres://u:*@host/db?x=a@b"),
        ("mysql://root:PW@tcp(h)/d", "mysql://root:*@tcp(h)/d"),
        ("mongodb+srv://u:p:w@h1,h2/x", "mongodb+srv://u:*@h1,h2/x"),
        ("amqp://u:12345@h", "amqp://u:*@h"),
        ("https://example.com:8080/a@b", None),
        ("https://example.com:8080?mail=a@b.c", None),
        ("https://example.com:8080 a@b.c", None),
        ("https://u@example.com/", None),
        ("see a:b@c and x://y", None),
    ],
)
def test_the_password_of_an_address_is_replaced(text, expected):
    expected = (expected or text).replace("*", "[redacted:url_password]")
    assert redact(text) == expected
    assert json.loads(redact(json.dumps({"t": text}))) == {"t": expected}
    slashed = json.dumps({"t": text}).replace("/", "\\/")
    assert json.loads(redact(slashed)) == {"t": expected}
    assert _csv(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "The secretary lost the key: \"a\". A token is a word.",
        "A password policy asks for 12 letters; a secret is kept, tokens are counted.",
        "input_tokens: 512, max_tokens: 100, tokens=5, key=lambda x: x",
        "pass: 3, fail: 0; first_pass=0.5",
        "Is `token == other_token`? If password != '' then",
        "{'role': 'user', 'content': 'reset my password'}",
        '{"type": "password", "name": "token"}',
        "What is the secret of success: work.",
        "a token", "my password: hunter2", "key: value",
    ],
)  # fmt: skip
def test_prose_stays(text):
    assert redact(text) == text
    assert json.loads(redact(json.dumps({"t": text}))) == {"t": text}


_NASTY = st.text(st.sampled_from("ab1,:=[]{}()'\"\\ \n"), max_size=12)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | _NASTY,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["password", "token", "n"]), inner, max_size=3
        )
    ),
    max_leaves=8,
)


def _expected(value, *, is_secret=False):
    if isinstance(value, dict):
        return {k: _expected(v, is_secret=k != "n") for k, v in value.items()}
    if isinstance(value, list):
        return [_expected(v) for v in value]
    return value


@given(_VALUES, st.sampled_from([None, 1]))
def test_json_stays_json_of_the_same_shape_and_lines(value, indent):
    written = json.dumps({"password": value}, indent=indent)
    once = redact(written)
    again = json.loads(once)
    assert once.count("\n") == written.count("\n")
    assert redact(once) == once
    if isinstance(value, str) and value:
        assert again == {"password": MARK}


@given(st.lists(_NASTY | st.integers(), min_size=1, max_size=4))
def test_a_list_under_a_secret_key_leaves_the_rest_of_the_record(values):
    record = {"a": 1, "password": values, "b": {"c": "x"}}
    found = json.loads(redact(json.dumps(record)))
    assert (found["a"], found["b"]) == (1, {"c": "x"})
    assert found["password"] in ([MARK], values)
    if any(str(value).strip("\"'\\,[]() \n") for value in values):
        assert found["password"] == [MARK]


@pytest.mark.parametrize(
    "text",
    [
        '{"password": [' * 5_000,
        '"token":' * 20_000,
        "password='" * 20_000,
        '{"password": ["' + "\\" * 50_000,
        "token" * 50_000,
        "a://b:" + "c@" * 50_000,
        "{'password': (" * 5_000,
        "x" * 100_000 + "_token=1",
        '"password":["' * 20_000,
        '"password":[1,' * 20_000,
        '"password": "' + '\\"' * 50_000,
        "password='" + "\\'" * 50_000,
        "password = " * 20_000,
        "password: " * 20_000,
        "\npassword: " + "a1" * 50_000,
        "--password " * 20_000,
        "<password " * 20_000,
        "<password>" * 20_000,
        "密码：" * 20_000,
        '["password", "' * 20_000,
        '"name": "password", "value": "' * 10_000,
        "cookie: " * 20_000,
        " -u a:" * 20_000,
        "%5ftoken" * 20_000,
    ],
    ids=range(24),
)
def test_no_text_takes_long(text):
    assert len(redact(text)) <= 3 * len(text)  # ends; the suite has a time limit

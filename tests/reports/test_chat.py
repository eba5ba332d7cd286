"""Messages of the digest to chats: what they say, and how they are posted."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import threading
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from promptlab.cli import run_cli
from promptlab.database import connect
from promptlab.errors import MailError, SettingsError
from promptlab.operations.chat import Hook, hook_of, post
from promptlab.paths import chat_services
from promptlab.reports.digest import (
    ChatMessage,
    chat_message,
    json_bytes,
    read_digest,
    subject_of,
)
from promptlab.reports.printing import unmarked
from promptlab.reports.report_options import ReportOptions

NOW = datetime(2026, 11, 20, tzinfo=UTC)
LINKED = ReportOptions(NOW, "en", report_url="https://reports.example.com/")
SERVICES = chat_services()
LIMITS = {"dingtalk": 20_000, "feishu": 20_000, "wecom": 4096, "teams": 28_000}
HOSTILE = "@all <at id=all></at> <!channel> [x](http://e.example) **b** `c` _i_ \n\n# h"
SECRET = "SEC-not-to-be-seen"
KEY = "3f8e-not-to-be-seen"


@pytest.fixture(scope="module")
def digest(six_titles_db):
    with connect(six_titles_db, read_only=True) as con:
        return read_digest(con, NOW - timedelta(days=7), LINKED)


@pytest.fixture(scope="module")
def in_chinese(six_titles_db):
    options = ReportOptions(NOW, "zh")
    with connect(six_titles_db, read_only=True) as con:
        return read_digest(con, NOW - timedelta(days=7), options), options


def titled(digest, n, title):
    """The digest with *n* titles in each group, all of one name."""
    groups = {
        course: [
            entry.model_copy(update={"title": title}) for entry in (entries * n)[:n]
        ]
        for course, entries in digest.groups.items()
    }
    return digest.model_copy(update={"groups": groups})


def texts_of(message):
    """Every text of a message that a person reads."""

    def walk(value):
        if isinstance(value, dict):
            for name, each in value.items():
                yield from walk(each) if name not in ("type", "tag", "msgtype") else ()
        elif isinstance(value, list):
            for each in value:
                yield from walk(each)
        elif isinstance(value, str):
            yield value

    return [text for text in walk(message.body) if " " in text or "：" in text]


def told(message):
    return "\n".join(texts_of(message))


def test_five_chats_are_known():
    assert SERVICES == ("dingtalk", "feishu", "slack", "teams", "wecom")


@pytest.mark.parametrize("service", SERVICES)
def test_a_message_says_what_moved_and_links_to_the_titles(digest, service):
    said = told(chat_message(service, digest, LINKED))
    assert "Do not ship: 8 cases broke" in said
    assert "29.2% (7 of 24 passed), since 17 Nov" in said
    assert "https://reports.example.com/titles/Account-support~" in said
    assert "promptlab · 18 runs, cost 2.547" in said


# The line that a list of chats or a notification shows, besides the message itself.
PREVIEWS = {"slack": 1, "dingtalk": 1}


@pytest.mark.parametrize("service", SERVICES)
def test_the_headline_is_in_a_message_once(digest, service):
    said = told(chat_message(service, digest, LINKED))
    headline = subject_of(digest, LINKED)
    assert said.count(headline) == 1 + PREVIEWS.get(service, 0)


@pytest.mark.parametrize("service", SERVICES)
def test_a_chinese_message_has_no_english_word_but_names(in_chinese, service):
    digest, options = in_chinese
    named = {entry.title for group in digest.groups.values() for entry in group}
    named |= {case.title for case in digest.flaky}
    said = told(chat_message(service, digest, options))
    for name in sorted(named, key=len, reverse=True):
        said = said.replace(name, "")
    said = re.sub(r"[a-z]+(-[a-z]+)*-\d+|acme/large(-2)?|promptlab", "", said)
    said = re.sub(r"http://adaptivecards\S+|application/vnd\S+", "", said)
    said = re.sub(r"\b\d[\d.]* (ms|s)\b", "", said)
    words = set(re.findall(r"[A-Za-z]{2,}", said))
    assert words <= {"AdaptiveCard", "TextBlock", "Bolder", "Medium", "None"}
    assert not re.search(r"[\u4e00-\u9fff][,;:()!?]|[,;:()!?][\u4e00-\u9fff]", said)


def counted(said, name):
    """The listed titles of each group, and how many more it says that there are."""
    groups = []
    for line in said.splitlines():
        if re.search(r"[:：] ?200\W*$", line):
            groups.append((0, None))
        elif groups and name in line:
            groups[-1] = (groups[-1][0] + 1, None)
        elif groups and (
            more := re.fullmatch(r"(\d+) more|另有 (\d+) 个", line.strip())
        ):
            groups[-1] = (groups[-1][0], int(more[1] or more[2]))
    return groups


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("name", ["客服" * 60, "support " * 20])
def test_a_message_of_many_titles_stays_below_the_limit_and_counts_the_others(
    digest, service, lang, name
):
    many = titled(digest, 200, name)
    message = chat_message(service, many, replace(LINKED, lang=lang))
    assert len(json_bytes(message.body)) <= LIMITS.get(service, 40_000)
    groups = counted(told(message), name[:20])
    listed = [n for n, _ in groups]
    assert len(groups) == len(many.groups.keys() - {"unchanged"})
    assert 1 <= sum(listed) <= 24
    assert listed == sorted(listed, reverse=True), "the worst first"
    assert all(n + more == 200 if n else more is None for n, more in groups)


def test_slack_takes_no_more_than_fifty_blocks(digest):
    body = chat_message("slack", titled(digest, 200, "t" * 500), LINKED).body
    assert len(body["blocks"]) <= 50
    assert all(len(block["text"]["text"]) <= 3000 for block in body["blocks"])


@pytest.mark.parametrize("service", SERVICES)
def test_names_of_others_mark_up_nothing_and_mention_nobody(digest, service):
    hostile = titled(digest, 2, HOSTILE)
    for case in hostile.flaky:
        assert case.title
    flaky = [case.model_copy(update={"case_id": HOSTILE}) for case in digest.flaky]
    hostile = hostile.model_copy(update={"flaky": flaky})
    said = told(chat_message(service, hostile, LINKED))
    said = re.sub(r"https://reports\.example\.com/\S+?/report\.html", "", said)
    assert "＠all ＜at id=all＞" in said
    assert "@" not in said
    assert not re.search(r"<(at|!|@|/)|\[x\]|`|http://e|\n# h|\*\*b|_i_", said)
    plain = told(chat_message(service, titled(digest, 2, "A"), LINKED))
    assert said.count("[") == plain.count("[")
    assert said.count("<") == plain.count("<")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("refund_over_7_days", "refund_over_7_days"),
        ("_i_ __b__", "＿i＿ ＿＿b＿＿"),
        ("see https://a.b and www.c.d", "see https：//a.b and www．c.d"),
        ("a & b | c", "a ＆ b ｜ c"),
        ("two\nlines", "two lines"),
        ("退款（全额）", "退款（全额）"),
    ],
)
def test_signs_of_markup_are_written_in_full_width(text, shown):
    assert unmarked(text) == shown


def test_a_template_of_the_user_is_a_service(digest, tmp_path):
    (tmp_path / "chat").mkdir()
    (tmp_path / "chat" / "mattermost.json.j2").write_text(
        '{"hosts": ["chat.example.com"], "limit": 900, "body": {"text": {{ subject | tojson }}}}'
    )
    message = chat_message("mattermost", digest, replace(LINKED, templates=tmp_path))
    assert message.body == {"text": subject_of(digest, LINKED)}
    assert message.hosts == ["chat.example.com"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("no json", "must be a JSON object"),
        ('{"hosts": [], "body": {}}', "limit"),
        ('{"hosts": [], "limit": 1, "body": {}}', "larger than 1 bytes"),
    ],
)
def test_a_wrong_template_is_named(digest, tmp_path, text, problem):
    (tmp_path / "chat").mkdir()
    (tmp_path / "chat" / "own.json.j2").write_text(text)
    with pytest.raises(SettingsError, match=rf"chat/own\.json\.j2: .*{problem}"):
        chat_message("own", digest, replace(LINKED, templates=tmp_path))


@pytest.mark.parametrize("service", ["lark", "../mail/digest", ""])
def test_a_service_without_a_template_is_refused(digest, service):
    with pytest.raises(SettingsError, match="is none of dingtalk, feishu"):
        chat_message(service, digest, LINKED)


# ---------- posting


class _Chat(BaseHTTPRequestHandler):
    status = 200
    answer = b"{}"

    def do_POST(self):
        size = int(self.headers["Content-Length"])
        self.server.posts.append((self.path, self.rfile.read(size)))
        self.send_response(self.status)
        if self.status == 302:
            self.send_header("Location", "http://127.0.0.1:1/")
        self.end_headers()
        self.wfile.write(self.answer)

    def log_message(self, *_args):
        pass


@pytest.fixture
def chat():
    server = HTTPServer(("127.0.0.1", 0), _Chat)
    server.posts = []
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    _Chat.status, _Chat.answer = 200, b"{}"


def hook(server, service="slack", secret=None):
    address = f"http://127.0.0.1:{server.server_port}/{KEY}?key={KEY}"
    return Hook(service, address, secret)


HERE = ["127.0.0.1"]


@pytest.mark.parametrize("service", SERVICES)
def test_a_message_is_posted_as_it_is(chat, digest, service):
    message = chat_message(service, digest, LINKED)
    post(message, hook(chat, service), HERE)
    [(path, body)] = chat.posts
    assert path == f"/{KEY}?key={KEY}"
    assert json.loads(body) == message.body


def test_feishu_takes_its_signature_in_the_body(chat, digest):
    message = chat_message("feishu", digest, LINKED)
    post(message, hook(chat, "feishu", SECRET), HERE)
    body = json.loads(chat.posts[0][1])
    moment = body["timestamp"]
    assert abs(int(moment) - time.time()) < 60  # seconds
    key = f"{moment}\n{SECRET}".encode()
    wanted = base64.b64encode(hmac.new(key, digestmod=hashlib.sha256).digest())
    assert body["sign"] == wanted.decode()
    assert len(chat.posts[0][1]) <= 20_480


def test_dingtalk_takes_its_signature_in_the_query(chat, digest):
    message = chat_message("dingtalk", digest, LINKED)
    post(message, hook(chat, "dingtalk", SECRET), HERE)
    query = parse_qs(urlsplit(chat.posts[0][0]).query, strict_parsing=True)
    [moment], [sign] = query["timestamp"], query["sign"]
    assert abs(int(moment) / 1000 - time.time()) < 60  # milliseconds
    text = f"{moment}\n{SECRET}".encode()
    found = hmac.new(SECRET.encode(), text, digestmod=hashlib.sha256).digest()
    assert sign == base64.b64encode(found).decode()
    assert query["key"] == [KEY]
    assert SECRET.encode() not in chat.posts[0][1]


def test_a_service_that_signs_nothing_takes_no_secret(chat, digest):
    message = chat_message("wecom", digest, LINKED)
    with pytest.raises(SettingsError, match="no secret"):
        post(message, hook(chat, "wecom", SECRET), HERE)
    assert chat.posts == []


@pytest.mark.parametrize("status", [302, 404, 429, 500])
def test_a_refusal_is_an_error_that_does_not_name_the_address(chat, digest, status):
    _Chat.status = status
    with pytest.raises(MailError, match=f"127.0.0.1 answers {status}") as error:
        post(chat_message("slack", digest, LINKED), hook(chat), HERE)
    assert KEY not in str(error.value)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ({"errcode": 310000, "errmsg": "keywords not in content"}, "answers 310000 keywords not in content"),
        ({"errcode": 130101, "errmsg": "send too fast"}, "130101 send too fast; try again later"),
        ({"errcode": 93000, "errmsg": f"invalid webhook url {KEY}"}, r"93000 invalid webhook url \*\*\*$"),
        ({"errcode": 45009, "errmsg": "api freq out of limit\nsecond line"}, "45009 api freq out of limit second line; try"),
        ({"code": 19021, "msg": f"sign match fail {SECRET}"}, r"19021 sign match fail \*\*\*$"),
        ({"StatusCode": 9499, "code": 0, "msg": "too many request"}, "9499 too many request; try"),
        ({"code": 19024}, "answers 19024$"),
    ],
)  # fmt: skip
def test_an_error_in_the_body_is_an_error_on_one_line(chat, digest, answer, said):
    _Chat.answer = json.dumps(answer).encode()
    message = chat_message("feishu", digest, LINKED)
    with pytest.raises(MailError, match=said) as error:
        post(message, hook(chat, "feishu", SECRET), HERE)
    assert "\n" not in str(error.value)
    assert KEY not in str(error.value) and SECRET not in str(error.value)


@pytest.mark.parametrize(
    "answer",
    [b"ok", b"", b"1", b'{"errcode": 0, "errmsg": "ok"}', b'{"code":0}', b"[]"],
)
def test_other_answers_are_none(chat, digest, answer):
    _Chat.answer = answer
    post(chat_message("wecom", digest, LINKED), hook(chat, "wecom"), HERE)


@pytest.mark.parametrize(
    ("address", "said"),
    [
        (f"http://hooks.slack.com/{KEY}", "must begin with https"),
        (f"ftp://hooks.slack.com/{KEY}", "must begin with https"),
        (f"https://hooks.slack.com.example.org/{KEY}", "is not a host of this service"),
        (f"https://example.org/hooks.slack.com/{KEY}", "is not a host of this service"),
        (f"https://hooks.slack.com@example.org/{KEY}", "'example.org' is not a host"),
        (f"http://127.0.0.1:9/{KEY}", "webhook_hosts in promptlab.toml"),
        (f"https://[{KEY}", "is no URL"),
        (f"https://hooks.slack.com:port/{KEY}", "is no URL"),
        (KEY, "must begin with https"),
    ],
)
def test_an_address_of_another_place_is_refused(digest, address, said):
    with pytest.raises(SettingsError, match=said) as error:
        post(chat_message("slack", digest, LINKED), Hook("slack", address))
    assert KEY not in str(error.value)


@pytest.mark.parametrize(
    ("host", "is_taken"),
    [
        ("a.webhook.office.com", True),
        ("prod.westus.logic.azure.com", True),
        ("webhook.office.com.evil.org", False),
        ("evilwebhook.office.com", False),
    ],
)
def test_a_leading_dot_stands_for_any_host_below(digest, host, is_taken):
    message = chat_message("teams", digest, LINKED)
    away = Hook("teams", f"https://{host}/ \n{KEY}")  # never leaves this machine
    with pytest.raises((SettingsError, MailError)) as error:
        post(message, away, timeout=0.01)
    assert ("not a host" in str(error.value)) != is_taken
    assert KEY not in str(error.value)


def test_a_chat_that_is_away_is_an_error():
    message = ChatMessage("slack", {}, HERE, None)
    with pytest.raises(MailError, match="cannot be reached"):
        post(message, Hook("slack", f"http://127.0.0.1:9/{KEY}"), timeout=2)


def test_a_hook_is_never_printed_with_its_secrets():
    environ = {
        "PROMPTLAB_FEISHU_WEBHOOK": f" {KEY}\n",
        "PROMPTLAB_FEISHU_SECRET": SECRET,
    }
    found = hook_of("feishu", environ)
    assert (found.address, found.secret) == (KEY, SECRET)
    assert KEY not in repr(found) and SECRET not in repr(found)


# ---------- the command


def run(capsys, tmp_path, db, *args):
    config = tmp_path / "promptlab.toml"
    config.write_text('webhook_hosts = ["127.0.0.1"]')
    code = run_cli(
        ["digest", "--db", str(db), "--since", "2026-11-15", "--config", str(config),
         "--out", str(tmp_path), *args]
    )  # fmt: skip
    return code, *capsys.readouterr()


def test_the_command_posts_to_the_chats_of_the_environment(
    six_titles_db, tmp_path, chat, capsys, monkeypatch
):
    for service in SERVICES:
        name = f"PROMPTLAB_{service.upper()}_WEBHOOK"
        monkeypatch.setenv(name, hook(chat).address)
    monkeypatch.setenv("PROMPTLAB_DINGTALK_SECRET", SECRET)
    options = [word for service in SERVICES for word in ("--webhook", service)]
    code, out, err = run(capsys, tmp_path, six_titles_db, *options)
    assert code == 0
    assert [f"posted to {service}" in err for service in SERVICES] == [True] * 5
    assert len(chat.posts) == 5
    assert KEY not in out + err and SECRET not in out + err


def test_a_chat_that_refuses_does_not_keep_the_others_back(
    six_titles_db, tmp_path, chat, capsys, monkeypatch
):
    monkeypatch.setenv("PROMPTLAB_WECOM_WEBHOOK", "https://example.org/")
    monkeypatch.setenv("PROMPTLAB_TEAMS_WEBHOOK", hook(chat).address)
    code, _, err = run(
        capsys, tmp_path, six_titles_db, "--webhook", "wecom", "--webhook", "teams"
    )
    assert code == 2
    assert "posted to teams" in err
    assert "wecom: 'example.org' is not a host" in err
    assert len(chat.posts) == 1


def test_an_error_in_the_body_exits_with_70(
    six_titles_db, tmp_path, chat, capsys, monkeypatch
):
    _Chat.answer = b'{"errcode": 93000, "errmsg": "invalid webhook url"}'
    monkeypatch.setenv("PROMPTLAB_WECOM_WEBHOOK", hook(chat).address)
    code, out, err = run(capsys, tmp_path, six_titles_db, "--webhook", "wecom")
    assert (code, out) == (70, "")
    assert err.strip().splitlines()[-1].endswith("93000 invalid webhook url")


def test_a_dry_run_writes_the_payloads_without_address_and_signature(
    six_titles_db, tmp_path, capsys, monkeypatch
):
    monkeypatch.setenv("PROMPTLAB_FEISHU_WEBHOOK", f"https://open.feishu.cn/{KEY}")
    monkeypatch.setenv("PROMPTLAB_FEISHU_SECRET", SECRET)
    code, out, err = run(
        capsys, tmp_path, six_titles_db, "--webhook", "feishu", "--dry-run"
    )
    assert code == 0
    [written] = out.split()
    text = (tmp_path / "digest.feishu.json").read_text("utf-8")
    assert written.endswith("digest.feishu.json")
    assert json.loads(text)["card"]["header"]["template"] == "red"
    assert "sign" not in json.loads(text)
    assert KEY not in text + out + err and SECRET not in text + out + err


@pytest.mark.parametrize(
    ("service", "said"),
    [
        ("wecom", "PROMPTLAB_WECOM_WEBHOOK is not set"),
        ("dingtlak", "did you mean `dingtalk`?"),
    ],
)
def test_a_webhook_without_an_address_is_an_error_of_settings(
    six_titles_db, tmp_path, capsys, monkeypatch, service, said
):
    monkeypatch.delenv("PROMPTLAB_WECOM_WEBHOOK", raising=False)
    code, _, err = run(capsys, tmp_path, six_titles_db, "--webhook", service)
    assert code == 2
    assert said in err

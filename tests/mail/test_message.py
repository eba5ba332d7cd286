"""The message: headers, parts, bytes, size, and what it says first."""

from __future__ import annotations

import email
import email.policy
import io
import re
import zipfile
from datetime import timedelta

import pytest

from promptlab.contracts.gate import CaseList
from promptlab.errors import UsageError
from promptlab.reports.mail import Envelope
from tests.mail.made import (
    case,
    change,
    comparison,
    empty,
    gate,
    result,
    runs,
    to_message,
)


def reread(message):
    return email.message_from_bytes(message.as_bytes(), policy=email.policy.default)


def body(message, kind="html"):
    return message.get_body((kind,)).get_content()


def tree(part, depth=0):
    yield "  " * depth + part.get_content_type()
    for child in part.iter_parts() if part.is_multipart() else ():
        yield from tree(child, depth + 1)


@pytest.mark.parametrize("lang", ["zh", "en"])
def test_the_body_is_one_main_landmark_in_its_language(lang):
    html = body(to_message(result(lang=lang), envelope=Envelope()))
    tag = {"zh": "zh-CN", "en": "en"}[lang]
    assert re.findall(r"<body[^>]*>.*?<(\w+) role=\"main\"", html, re.DOTALL) == ["div"]
    assert html.count(f'role="main" lang="{tag}"') == 1


def test_the_same_input_gives_the_same_bytes():
    made = [
        to_message(
            result(),
            history=runs(),
            comparison=comparison(),
            envelope=Envelope(attach="zip"),
        ).as_bytes()
        for _ in range(2)
    ]
    assert made[0] == made[1]


def test_another_time_gives_another_message_id():
    first = result()
    later = first.model_copy(
        update={"generated_at": first.generated_at + timedelta(seconds=1)}
    )
    assert to_message(first)["Message-ID"] != to_message(later)["Message-ID"]


def test_parts_stand_in_the_order_that_mail_programs_expect():
    message = to_message(result(), history=runs(), envelope=Envelope(attach="html"))
    assert list(tree(reread(message))) == [
        "multipart/mixed",
        "  multipart/alternative",
        "    text/plain",
        "    text/html",
        "  text/html",
    ]


def test_headers_are_complete_and_mark_an_automatic_mail():
    message = reread(
        to_message(result(), envelope=Envelope(sender="ci@example.com", to=["a@b.cn"]))
    )
    assert message["From"] == "promptlab <ci@example.com>"
    assert message["To"] == "a@b.cn"
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["Message-ID"].endswith("@example.com>")
    assert message["Date"].datetime == result().generated_at


def test_every_byte_on_the_wire_is_ascii_in_short_lines():
    data = to_message(result(), history=runs(), comparison=comparison()).as_bytes()
    assert data.isascii()
    assert b"\n" not in data.replace(b"\r\n", b"")
    assert max(map(len, data.split(b"\r\n"))) <= 998


def test_the_subject_begins_with_the_verdict():
    said = "不要发布：2 个用例退化（a、b），4 个修复。"
    made = result().model_copy(update={"gate": gate(said)})
    subject = reread(to_message(made))["Subject"]
    assert subject == "不要发布：2 个用例退化（a、b） · 客服问答回归"
    assert body(to_message(made), "plain").splitlines()[0] == said


def test_a_subject_has_room_for_few_names():
    broke = CaseList(n=9, case_ids=[f"{n}{'x' * 30}" for n in range(9)])
    made = result().model_copy(update={"gate": gate("…", broke=broke, lang="en")})
    english = reread(to_message(made, lang="en"))["Subject"]
    assert english.startswith(f"Do not ship: 9 cases broke (0{'x' * 30}, 8 more)")
    assert english.endswith("客服问答回归")


def test_a_result_that_says_no_verdict_has_its_score_in_the_subject():
    assert reread(to_message(result()))["Subject"] == "C 71.2 · 客服问答回归"
    assert reread(to_message(empty()))["Subject"] == "未评级 未评分 · 客服问答回归"


def test_the_text_part_is_a_report_of_its_own():
    text = body(to_message(result(), history=runs(), comparison=comparison()), "plain")
    for told in (
        "得分 71.2 / 100 · 等级 C · 95% 区间 66.0 至 77.0",
        "通过 1 / 3",
        "[严重] 维度 0 低于目标。",
        "规则 d0：71.2（66.0 至 77.0）",
        "[失败] case-000001 · 25.0（基线 90.0，−20.0）",
        "期望：refund",
        "实际：refuse",
        "run-1.html",
    ):
        assert told in text


@pytest.mark.parametrize("part", ["plain", "html"])
def test_a_case_that_is_not_comparable_is_counted(part):
    compared = comparison()
    counts = compared.counts.model_copy(update={"not_comparable": 7})
    compared = compared.model_copy(update={"counts": counts})
    message = to_message(result(), history=runs(), comparison=compared)
    assert "无法比较 7。" in body(message, part)


def test_the_text_part_is_not_escaped_and_names_hidden_characters():
    text = body(to_message(result(task={"title": "<b> & \x1b[31m"})), "plain")
    assert "<b> & ⟦U+001B⟧[31m" in text


def test_lists_are_cut_and_say_how_many_more_there_are():
    made = result([case(n) for n in range(50)], alerts=20, dimensions=11, lang="en")
    html = body(to_message(made, history=runs(30), comparison=comparison(cases=12)))
    for told in (
        "15 more alerts are in the full report.",
        "3 more dimensions are in the full report.",
        "42 more failed or error cases are in the full report.",
        "There are 20 older runs.",
    ):
        assert told in html
    assert len(html.encode()) < 72_000  # as base64, what Gmail shows without a cut


def test_a_lost_must_have_is_stated_in_words():
    compared = comparison(
        cases=1,
    ).model_copy(
        update={"cases": [change(1, must_have_lost=True, severity="critical")]}
    )
    assert "不再满足必选要求" in body(to_message(result(), comparison=compared))


def test_without_history_words_say_that_it_is_the_first_run():
    message = to_message(result(), history=runs(1))
    assert "第一次运行" in body(message)


@pytest.mark.parametrize(
    ("own", "names"),
    [
        (Envelope(), ["run-1.html"]),
        (Envelope(report_url="https://r.example.com"), []),
        (Envelope(attach="none"), []),
        (Envelope(attach="html", report_url="https://r.example.com"), ["run-1.html"]),
    ],
)
def test_the_report_comes_along_unless_it_is_linked_or_not_wanted(own, names):
    message = reread(to_message(result(), envelope=own))
    assert [part.get_filename() for part in message.iter_attachments()] == names
    assert ("https://r.example.com" in body(message)) == (own.report_url is not None)


def test_the_button_is_drawn_by_outlook_and_is_a_link_everywhere_else():
    own = Envelope(report_url='https://r.example.com/?a="b"&c')
    html = body(to_message(result(), envelope=own))
    outlook, others = re.findall(
        r"<!--\[if (?:!)?mso\]>(.*?)<!\[endif\]-->", html, re.S
    )[1:]
    assert '<v:roundrect xmlns:v="urn:schemas-microsoft-com:vml"' in outlook
    for part, sign in ((outlook, "&#34;"), (others, "&quot;")):
        link = f"https://r.example.com/?a={sign}b{sign}&amp;c/run-1/report.html"
        assert f'href="{link}"' in part


def test_styles_are_in_attributes_and_those_for_the_dark_in_a_block():
    html = body(to_message(result(), history=runs(), comparison=comparison()))
    block, _outlook = re.findall(r"<style>(.*?)</style>", html, re.S)
    assert block.strip().startswith("@media (prefers-color-scheme: dark)")
    assert re.search(r'<h1 style="[^"]*font-size: 22px', html)


def test_attached_html_is_the_full_report():
    message = reread(to_message(result(), envelope=Envelope(attach="html")))
    (part,) = message.iter_attachments()
    assert part.get_filename() == "run-1.html"
    assert part.get_content_charset() == "utf-8"
    assert part.get_content().startswith("<!DOCTYPE html>")
    assert "run-1.html" in body(message)


def test_attached_zip_holds_the_full_report():
    message = reread(to_message(result(), envelope=Envelope(attach="zip")))
    (part,) = message.iter_attachments()
    assert part.get_filename() == "run-1.zip"
    with zipfile.ZipFile(io.BytesIO(part.get_content())) as file:
        assert file.namelist() == ["report.html"]


@pytest.mark.parametrize(
    "base", ["https://r.example.com/x", "https://r.example.com/x/"]
)
def test_a_link_leads_to_the_report_as_it_is_written(base):
    own = Envelope(attach="link", report_url=base)
    html = body(to_message(result(task={"task_id": "a b/试"}), envelope=own))
    assert 'href="https://r.example.com/x/a-b-%E8%AF%95~' in html
    assert '/report.html"' in html


@pytest.mark.parametrize(
    ("url", "words"),
    [(None, "report_url"), ("javascript:alert(1)", "https://"), ("/local", "https://")],
)
def test_a_link_to_nowhere_is_refused(url, words):
    with pytest.raises(UsageError, match=words):
        to_message(result(), envelope=Envelope(attach="link", report_url=url))


def test_the_format_writes_the_same_message():
    from promptlab.reports.formats import FORMATS
    from promptlab.reports.pages import NOWHERE
    from promptlab.reports.report_options import ReportOptions

    data = FORMATS["email"].render(
        result(), ReportOptions(result().generated_at, "zh"), NOWHERE
    )
    assert data == to_message(result(), lang="zh").as_bytes()

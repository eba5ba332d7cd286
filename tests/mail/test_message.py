"""The message: headers, parts, bytes, size, and what it says first."""

from __future__ import annotations

import email
import email.policy
import io
import re
import sys
import zipfile
from datetime import timedelta

import pytest

from promptlab.contracts.gate import CaseList
from promptlab.errors import UsageError
from promptlab.reports.mail import MOST_BYTES, Envelope, trend
from tests.mail.made import (
    canaries,
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


def with_picture():
    return pytest.importorskip("resvg_py", reason="the picture needs resvg-py")


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
    with_picture()
    message = to_message(result(), history=runs(), envelope=Envelope(attach="html"))
    assert list(tree(reread(message))) == [
        "multipart/mixed",
        "  multipart/alternative",
        "    text/plain",
        "    multipart/related",
        "      text/html",
        "      image/png",
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
    said = "不要发布：2 个用例退化（a、b），4 个修复；+9.7 分，可能只是偶然。"
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


@pytest.mark.parametrize("text", canaries())
def test_no_text_of_a_task_makes_a_header(text):
    made = result(task={"title": text, "task_id": text})
    message = reread(to_message(made, envelope=Envelope(subject=None, attach="zip")))
    assert message["Bcc"] is None
    assert message.defects == []
    assert set(message.keys()) == {
        "Subject", "From", "To", "Date", "Message-ID", "Auto-Submitted",
        "Content-Language", "MIME-Version", "Content-Type",
    }  # fmt: skip
    assert message["Subject"].isprintable()


def test_a_subject_of_ones_own_cannot_add_a_header():
    own = Envelope(subject="好\r\nBcc: evil@example.invalid")
    message = reread(to_message(result(), envelope=own))
    assert message["Subject"] == "好 Bcc: evil@example.invalid"
    assert message["Bcc"] is None


@pytest.mark.parametrize(
    "address",
    [
        "",
        "a",
        "a@",
        "@b",
        "a@b\r\nBcc: c@d",
        "a@b, c@d",
        "A <a@b>",
        "试@例子.cn",
        "a b@c",
    ],
)
def test_what_is_no_address_is_refused_by_name(address):
    with pytest.raises(UsageError, match="address"):
        to_message(result(), envelope=Envelope(to=[address]))


def test_the_text_part_is_a_report_of_its_own():
    text = body(to_message(result(), history=runs(), comparison=comparison()), "plain")
    for told in (
        "得分 71.2 / 100 · 等级 C · 95% 区间 66.0–77.0",
        "通过 1 / 3",
        "[严重] 维度 0 低于目标。",
        "规则 d0：71.2（66.0–77.0）",
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


@pytest.mark.parametrize("size", [1, 200, 2000])
def test_the_html_stays_small_whatever_a_task_holds(size):
    wide = "\u202e<\u202e&" * 300
    cases = [
        case(n, case_id=f"{wide}{n}", context={"question": wide}) for n in range(size)
    ]
    made = result(cases, alerts=size, dimensions=min(size, 100))
    made = made.model_copy(
        update={
            "summary": made.summary.model_copy(
                update={
                    "conclusion": wide,
                    "alerts": [
                        a.model_copy(update={"message": wide})
                        for a in made.summary.alerts
                    ],
                }
            )
        }
    )
    message = to_message(made, history=runs(30), comparison=comparison(cases=size))
    assert len(body(message).encode()) <= MOST_BYTES


def test_lists_are_cut_and_say_how_many_more_there_are():
    made = result([case(n) for n in range(50)], alerts=20, dimensions=11, lang="en")
    html = body(to_message(made, history=runs(30), comparison=comparison(cases=12)))
    for told in (
        "12 more alerts are in the full report.",
        "3 more dimensions are in the full report.",
        "40 more failed or error cases are in the full report.",
        "There are 25 older runs." if trend_is_drawn() else "There are 20 older runs.",
    ):
        assert told in html


def trend_is_drawn():
    return trend(runs(30)) is not None


def test_a_case_that_is_listed_is_not_listed_again_among_the_changes():
    compared = comparison(cases=4)
    text = body(to_message(result(), comparison=compared), "plain")
    assert text.count("case-000001") == 1
    assert "- case-000003 · 70.0（基线 90.0，−20.0）" in text


def test_cases_that_got_worse_are_all_listed_or_counted_as_more():
    """A case that lost a must-have, and no points, was taken for one of them."""
    lost = [
        change(n, change="same", delta=0.0, must_have_lost=True, severity="critical")
        for n in range(3)
    ]
    worse = [change(n, severity=None) for n in range(10, 15)]
    compared = comparison(cases=5)
    compared = compared.model_copy(update={"cases": [*lost, *worse]})
    assert compared.counts.worse == 5
    message = to_message(result(lang="en"), comparison=compared)
    assert "5 more cases got worse" in body(message)


def test_a_lost_must_have_is_said_in_words():
    compared = comparison(
        cases=1,
    ).model_copy(
        update={"cases": [change(1, must_have_lost=True, severity="critical")]}
    )
    assert "失去必须项" in body(to_message(result(), comparison=compared))


def test_without_history_nothing_is_drawn_and_words_say_why():
    message = to_message(result(), history=runs(1))
    assert "第一次运行" in body(message)
    assert "image/png" not in " ".join(tree(message))


def test_the_picture_is_the_one_that_the_html_names():
    with_picture()
    message = to_message(result(), history=runs())
    image = next(p for p in message.walk() if p.get_content_type() == "image/png")
    assert f'src="cid:{image["Content-ID"].strip("<>")}"' in body(message)
    assert image.get_content().startswith(b"\x89PNG")
    assert image.get_content_disposition() == "inline"


def test_without_the_renderer_the_trend_is_a_longer_table(monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    message = to_message(result(), history=runs(12))
    assert "image/png" not in " ".join(tree(message))
    assert "v1.2" in body(message)
    assert "<img" not in body(message)


def test_the_picture_holds_no_text():
    svg = trend(runs(), "old-6").svg()
    assert "<text" not in svg
    assert "font" not in svg


@pytest.mark.parametrize("scores", [[None] * 5, [0.5, None, 0.6]])
def test_fewer_than_three_scored_runs_are_no_trend(scores):
    from dataclasses import replace

    past = [
        replace(run, overall_score=score)
        for run, score in zip(runs(len(scores)), scores, strict=True)
    ]
    assert trend(past) is None


@pytest.mark.parametrize("score", [0.0, 0.5, 1.0])
def test_a_trend_without_change_is_drawn_inside_its_box(score):
    from dataclasses import replace

    past = [
        replace(run, overall_score=score, ci_low=None, ci_high=None) for run in runs(3)
    ]
    drawn = trend(past)
    assert 0 <= drawn.floor < drawn.top <= 1
    assert 'y1="-' not in drawn.svg()


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
    link = "https://r.example.com/?a=&#34;b&#34;&amp;c/run-1/report.html"
    assert '<v:roundrect xmlns:v="urn:schemas-microsoft-com:vml"' in outlook
    assert f'href="{link}"' in outlook
    assert f'<a href="{link}"' in others


def test_every_colour_that_is_hard_to_read_in_the_dark_is_replaced_there():
    html = body(to_message(result(), history=runs(), comparison=comparison()))
    assert '<meta name="color-scheme" content="light dark">' in html
    dark = html.split("prefers-color-scheme: dark", 1)[1].split("</style>")[0]
    text = set(re.findall(r'(?:;|")color:(#[0-9A-F]{6})', html.split("</style>")[-1]))
    on_a_ground_of_its_own = {"#FFFFFF", "#6B5200", "#7A2E00", "#0B4A82"}
    assert {c for c in text - on_a_ground_of_its_own if c not in dark} == set()


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
    from promptlab.reports.edition import Edition
    from promptlab.reports.formats import FORMATS
    from promptlab.reports.pages import NOWHERE

    data = FORMATS["email"].render(
        result(), Edition(result().generated_at, "zh"), NOWHERE, runs()
    )
    assert data == to_message(result(), history=runs(), lang="zh").as_bytes()

"""Names made safe, and files written whole and only below the output folder."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from promptlab.errors import UsageError
from promptlab.reports.files import folder_name, write_file


@pytest.mark.parametrize("name", ["run-20241024-001", "v1.2_b", "A", "0"])
def test_a_plain_id_is_its_own_folder(name):
    assert folder_name(name) == name


@pytest.mark.parametrize(
    ("name", "readable"),
    [
        ("../../x", "x"),
        ("a/b", "a-b"),
        ("a\\b", "a-b"),
        ("/etc/passwd", "etc-passwd"),
        ("C:\\x", "C-x"),
        ("CON", "CON"),
        ("nul.txt", "nul.txt"),
        ("lpt1", "lpt1"),
        ("memory", "memory"),
        ("index.html", "index.html"),
        (".", ""),
        ("..", ""),
        ("", ""),
        (".hidden", "hidden"),
        ("-rf", "rf"),
        ("trailing.", "trailing"),
        ("客服/回归", "客服-回归"),
        ("a\x00b", "a-b"),
        ("a~b", "a-b"),
        ("line\nfeed", "line-feed"),
        ("\ud800", ""),
        ("\u202egnp", "gnp"),
    ],
)
def test_any_other_id_gets_a_safe_name_with_a_hash(name, readable):
    folder = folder_name(name)
    assert re.fullmatch(re.escape(readable) + "~[0-9a-f]{12}", folder)


@pytest.mark.parametrize("letter", ["x", "长", "👍"])
def test_a_very_long_id_is_cut_between_characters(letter):
    folder = folder_name(letter * 1000)
    assert len(folder.encode()) <= 120


@given(st.lists(st.text(st.characters(exclude_categories=[])), unique=True))
def test_two_ids_never_share_a_folder(names):
    folders = [folder_name(name) for name in names]
    assert len(set(folders)) == len(names)


@given(st.text(st.characters(exclude_categories=[])))
def test_a_folder_is_one_harmless_part_of_a_path(name):
    folder = folder_name(name)
    assert not re.search(r"[/\\:*?\"<>|\x00-\x1f]", folder)
    assert folder not in {"", ".", ".."}
    assert not folder.startswith((".", "-"))


def test_a_file_is_replaced_whole(tmp_path):
    write_file(tmp_path, "a", "f.txt", b"old and long")
    path = write_file(tmp_path, "a", "f.txt", b"new")
    assert path.read_bytes() == b"new"
    assert [p.name for p in path.parent.iterdir()] == ["f.txt"]


def test_a_folder_that_leads_out_is_refused(tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    out = tmp_path / "out"
    out.mkdir()
    (out / "task").symlink_to(outside)
    with pytest.raises(UsageError, match="leads out of the output folder"):
        write_file(out, "task", "f.txt", b"x")
    assert list(outside.iterdir()) == []


def test_a_link_in_place_of_the_file_is_replaced_not_followed(tmp_path):
    outside = tmp_path / "outside.txt"
    outside.write_bytes(b"mine")
    out = tmp_path / "out"
    (out / "task").mkdir(parents=True)
    (out / "task" / "f.txt").symlink_to(outside)
    write_file(out, "task", "f.txt", b"x")
    assert outside.read_bytes() == b"mine"


def test_nothing_is_left_behind_when_writing_fails(tmp_path):
    (tmp_path / "a" / "f.txt").mkdir(parents=True)
    with pytest.raises(OSError):
        write_file(tmp_path, "a", "f.txt", b"x")
    assert [p.name for p in (tmp_path / "a").iterdir()] == ["f.txt"]

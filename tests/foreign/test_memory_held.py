"""Reading holds what is kept of a file, and one sample of it."""

from __future__ import annotations

import json
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest

from promptlab.ingest.foreign.reading import foreign_batches
from promptlab.ingest.reading.limits import Limits
from promptlab.ingest.reading.source import Source
from tests.foreign.reading_of import DATA

SAMPLES = 40
MEGABYTE = 1 << 20


def _archive(file: Path, **members: Any) -> None:
    log = json.loads((DATA / "inspect_ai" / "late.json").read_text("utf-8"))
    sample = log.pop("samples")[0]
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("_journal/start.json", "header.json"):
            archive.writestr(name, json.dumps(log))
        for n in range(SAMPLES):
            one = {**sample, "id": f"s{n}", "epoch": 1, "uuid": f"u{n}", **members}
            archive.writestr(f"samples/s{n}_epoch_1.json", json.dumps(one))


@pytest.mark.parametrize(
    "members",
    [
        {"metadata": {"pad": "A" * 2 * MEGABYTE}},
        {"events": ["A" * 2 * MEGABYTE]},
        {"scores": "A" * 2 * MEGABYTE},  # of another shape: the sample is rejected
    ],
    ids=["too long to be kept", "not read", "rejected"],
)
def test_a_log_that_unpacks_to_much_is_read_sample_by_sample(
    members: dict[str, Any], tmp_path: Path
) -> None:
    file = tmp_path / "log.eval"
    _archive(file, **members)
    limits = Limits(max_string=MEGABYTE // 8)
    source = Source(b"", "log", file, str(file), form="eval", limits=limits)
    tracemalloc.start()
    try:
        readings = list(foreign_batches("inspect_ai", source))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    read = sum(each.records_loaded + each.records_rejected for each in readings)
    assert read == SAMPLES
    assert peak < 25 * MEGABYTE  # all of them unpack to 80


def test_long_texts_that_are_kept_come_in_batches_of_bounded_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("promptlab.ingest.foreign.reading.BATCH_CHARACTERS", MEGABYTE)
    file = tmp_path / "log.eval"
    _archive(file, metadata={"pad": "A" * (MEGABYTE // 2)})
    source = Source(b"", "log", file, str(file), form="eval")
    readings = list(foreign_batches("inspect_ai", source))
    assert len(readings) >= SAMPLES // 3
    assert sum(each.records_loaded for each in readings) == SAMPLES

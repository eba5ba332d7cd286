"""Tests of a user become the cases of a run."""

from __future__ import annotations

import json
import os
from pathlib import Path

import polars  # noqa: F401  # pytester takes out of sys.modules what a test imports
import pytest

from promptlab.build import plan
from promptlab.warehouse import Warehouse

pytest_plugins = ("pytester",)

CACHE = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """The plan, so that no test imports dbt: pytester takes it out again."""
    plan.load()


@pytest.fixture(autouse=True)
def cached(monkeypatch: pytest.MonkeyPatch):
    """Pytester gives each test another home."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(CACHE))


TESTS = """
    import pytest

    @pytest.mark.promptlab(title="Support", case="refund", tags=["money"])
    @pytest.mark.parametrize("repeat", range(2))
    def test_refund(promptlab_case, repeat):
        answer = promptlab_case("No refund.", inputs={"question": "?"}, model="m")
        assert "refunded" in answer

    @pytest.mark.promptlab(title="Support", case="plan")
    def test_plan(promptlab_case):
        plan = promptlab_case({"steps": ["a", "b"]}, output_tokens=7)
        assert plan["steps"]

    @pytest.mark.promptlab(title="Support")
    def test_breaks():
        raise TimeoutError("30 s")

    @pytest.mark.promptlab(title="Support", case="known")
    @pytest.mark.xfail
    def test_known(promptlab_case):
        assert promptlab_case("x") == "y"

    @pytest.fixture
    def broken():
        yield
        raise ConnectionError("gone")

    @pytest.mark.promptlab(title="Support", case="broken")
    def test_that_ends_badly(promptlab_case, broken):
        assert promptlab_case("x")

    @pytest.mark.promptlab
    def test_skipped():
        pytest.skip("not today")

    def test_of_something_else():
        assert True
"""
EXPECTED = [
    ("refund", "fail", "No refund.", None),
    ("refund", "fail", "No refund.", None),
    ("plan", "pass", None, {"steps": ["a", "b"]}),
    ("test_support.py::test_breaks", "error", None, None),
    ("known", "fail", "x", None),
    ("broken", "error", "x", None),
]


@pytest.fixture(params=[(), ("-n", "2")], ids=["one process", "two workers"])
def recorded(request, pytester: pytest.Pytester):
    """Return the lines of the file, of one process and of pytest-xdist."""
    pytester.makepyfile(test_support=TESTS)
    found = pytester.runpytest_subprocess(
        "--promptlab", "out/run.jsonl", "--promptlab-variant", "v2", *request.param
    )
    found.stdout.fnmatch_lines("promptlab run out/run.jsonl")
    lines = (pytester.path / "out/run.jsonl").read_text("utf-8").splitlines()
    return pytester.path, [json.loads(line) for line in lines]


def test_a_run_file_has_a_result_per_recorded_test(recorded):
    folder, lines = recorded
    found = [
        (
            line["sample_id"],
            line["status"],
            line.get("raw_output"),
            line.get("final_output"),
        )
        for line in lines
    ]
    assert sorted(found, key=str) == sorted(EXPECTED, key=str)
    (run,) = {line["run_id"] for line in lines}
    assert run.startswith("Support/v2/")
    warehouse = Warehouse(folder / "w.duckdb")
    (file,) = warehouse.ingest(folder / "out/run.jsonl").files
    assert (file.status, file.problems) == ("loaded", [])
    assert file.records_loaded == 6


def test_a_failed_subtest_fails_its_case(pytester: pytest.Pytester):
    pytester.makepyfile(
        """
        import unittest
        import pytest

        @pytest.mark.promptlab(title="Support")
        class TestPlan(unittest.TestCase):
            def test_steps(self):
                for step in "abc":
                    with self.subTest(step=step):
                        self.assertNotEqual(step, "b")

            def test_breaks(self):
                with self.subTest("a"):
                    raise TimeoutError("30 s")
                with self.subTest("b"):
                    assert True

            def test_holds(self):
                with self.subTest("a"):
                    assert True

        @pytest.mark.promptlab(title="Support", case="skipped")
        def test_that_is_skipped(subtests, promptlab_case):
            promptlab_case("x", model="m")
            with subtests.test("tone"):
                assert "x" == "y"
            pytest.skip("the rest needs a network")
        """
    )
    pytester.runpytest_inprocess("--promptlab", "run.jsonl")
    lines = (pytester.path / "run.jsonl").read_text("utf-8").splitlines()
    records = {each["sample_id"]: each for each in map(json.loads, lines)}
    found = {name.rpartition("::")[2]: each["status"] for name, each in records.items()}
    assert found == {
        "test_steps": "fail",
        "test_breaks": "error",
        "test_holds": "pass",
        "skipped": "fail",
    }
    assert records["skipped"]["judge_feedback"].startswith("AssertionError")
    assert records["skipped"]["raw_output"] == "x"


def test_a_retry_does_not_have_the_answer_of_the_try_before(
    pytester: pytest.Pytester,
):
    pytester.makeconftest(
        """
        from _pytest.runner import runtestprotocol

        def pytest_runtest_protocol(item, nextitem):
            for _ in range(2):
                for report in runtestprotocol(item, nextitem=nextitem, log=False):
                    item.ihook.pytest_runtest_logreport(report=report)
                item._initrequest()
            return True
        """
    )
    pytester.makepyfile(
        """
        import pytest

        TRIES = []

        @pytest.mark.promptlab(title="Support", case="refund")
        def test_refund(promptlab_case):
            TRIES.append(1)
            if len(TRIES) == 2:
                raise TimeoutError("30 s")
            assert promptlab_case("No refund.", input_tokens=7) == "x"
        """
    )
    pytester.runpytest_inprocess("--promptlab", "run.jsonl")
    lines = (pytester.path / "run.jsonl").read_text("utf-8").splitlines()
    found = [
        (each["status"], each.get("raw_output")) for each in map(json.loads, lines)
    ]
    assert found == [("fail", "No refund."), ("error", None)]


def test_nothing_is_recorded_without_the_option(pytester: pytest.Pytester):
    pytester.makepyfile(TESTS)
    pytester.runpytest_inprocess().assert_outcomes(
        passed=3, failed=3, errors=1, skipped=1, xfailed=1
    )
    assert [path.suffix for path in pytester.path.rglob("*.jsonl")] == []


@pytest.mark.parametrize(
    ("test", "message"),
    [
        ("promptlab_case('x', colour=1)", "*unknown colour; it takes*"),
        ("promptlab_case('x')", "*marker promptlab: unknown name; it takes*"),
    ],
)
def test_a_misspelt_name_is_an_error(pytester: pytest.Pytester, test, message):
    name = "name" if "unknown name" in message else "title"
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.promptlab({name}="x")
        def test(promptlab_case):
            {test}
        """
    )
    found = pytester.runpytest_inprocess("--promptlab", "run.jsonl")
    assert found.ret != 0
    (found.stdout if found.ret == 1 else found.stderr).fnmatch_lines(message)

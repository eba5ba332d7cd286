"""Guess a mapping of the columns of a table, for the user to correct.

Usual column names decide; the cells of the first rows confirm numbers and verdicts. A
number is guessed as a score only if 1 is best according to its name. Up to 3 tables in
the same folder show whether questions come again under new ids: such an id is of a row,
not of a case.
"""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from pydantic import ValidationError

from promptlab.contracts.sources import TableMapping, evaluator_of
from promptlab.encoding import decoded
from promptlab.errors import InputError
from promptlab.ingest.files.dates import without_date
from promptlab.ingest.foreign.casts import LONGEST_LINE, first_line
from promptlab.ingest.foreign.documents import Refused
from promptlab.ingest.foreign.names import LESS_IS_BETTER, plain_name
from promptlab.ingest.foreign.table.cells import (
    SUCCEEDED,
    are_times,
    cell_text,
    is_few,
    is_nothing,
    is_verdict_word,
    moment,
    mostly_numbers,
    nested_names,
    number_of,
    text_key,
    verdict_of,
    with_nested,
)
from promptlab.ingest.foreign.table.dialect import Row, head_of, is_nameless
from promptlab.ingest.foreign.table.opening import columns_of, form_of, rows_of
from promptlab.ingest.reading.problems import Problem
from promptlab.ingest.reading.source import Source
from promptlab.paths import check_regular

_ROWS = 1000

_NAMES: dict[str, str] = {
    "case": "case|case id|dataset item id|item id|test case id|reference example id"
    "|example id|question id|sample id|test id|instance id|id|uid|key|编号|用例编号"
    "|用例id|用例 id|问题编号|问题id|问题 id|题号|样本编号|样本id|样本 id|数据id|序号",
    "inputs": "question|input|inputs|query|user input|prompt|instruction|user|问题"
    "|输入|用户问题|用户输入|用户提问|测试问题|提问|问句|题目|查询|指令|提示词",
    "output": "answer|output|response|completion|prediction|actual|actual output|model"
    " answer|model output|generated|generation|hypothesis|回答|输出|实际输出|模型回答"
    "|模型输出|模型回复|模型答案|模型响应|实际回答|实际回复|实际答案|实际结果|预测结果"
    "|预测答案|预测|生成结果|生成内容|生成答案|回复|答复|响应|答案",
    "expected": "expected|expected output|reference|reference output|reference answer"
    "|reference response|ground truth"
    "|golden|golden answer|gold|target|label|truth|correct answer|ideal|标准答案|期望"
    "|参考答案|期望输出|期望答案|期望回答|期望结果|预期输出|预期答案|预期回答|预期结果"
    "|预期|正确答案|标准回答|标准输出|参考回答|参考输出|参考回复|真实答案|标注答案"
    "|理想回答|目标答案|答案",
    "round": "round|run|repeat|attempt|epoch|trial|repetition|轮次|轮数",
    "title": "title|dataset|task|benchmark|suite|数据集|数据集名称|评测集|测试集|任务",
    "model": "model|model name|model id|endpoint id|endpoint|deployment|llm|provider"
    "|engine|接入点|推理接入点|模型|模型名称|模型名",
    "prompt_version": "prompt version|version|prompt name|variant|prompt id|prompt"
    "|版本|提示词版本|prompt版本",
    "verdict": "pass|passed|verdict|status|result|success|correct|is correct|resolved"
    "|solved|autoeval label label|human label|judge label|结果|通过|是否正确|是否通过"
    "|是否合格|是否准确|是否达标|是否成功|判定|判定结果|判断|判断结果|评测结果"
    "|测试结果|评估结果|评判结果|评审结果|结论|对错|正误|正确与否|正确",
    "error": "error|exception|error message|错误|错误信息|报错|报错信息|异常|异常信息",
    "latency_ms": "latency ms|duration ms|time ms|elapsed ms|total latency ms|耗时ms"
    "|耗时 ms|耗时毫秒|耗时 毫秒|总耗时 ms|延迟 ms|响应时间 ms|响应耗时 ms",
    "latency_s": "latency|latency s|duration|duration s|seconds|elapsed|time s"
    "|execution time|耗时|耗时 s|耗时秒|耗时 秒|总耗时|用时|延迟|响应时间|响应耗时",
    "input_tokens": "input tokens|prompt tokens|tokens in|输入token|输入 token"
    "|输入tokens|输入 tokens",
    "output_tokens": "output tokens|completion tokens|tokens out|输出token|输出 token"
    "|输出tokens|输出 tokens",
    "cost": "cost|cost usd|total cost|price|费用|成本|花费",
    "tags": "tags|tag|category|categories|question type|domain|difficulty|repo|标签"
    "|分类|类别|类型|题型|问题类型|难度|领域|场景",
    "time": "time|timestamp|date|datetime|created|created at|executed|executed at"
    "|finished|finished at|completed|completed at|ended|ended at|end time|started"
    "|started at|start time|run at|ran at|run time|时间|创建时间|执行时间|测试时间"
    "|评测时间|运行时间",
}
"""Setting → names of columns, the likeliest first; underscores count as spaces."""
_WORDS = {name: words.split("|") for name, words in _NAMES.items()}
_OF_ROWS = frozenset(
    {"case", "round", "title", "prompt_version", "tags", "time", "latency_s"}
)
"""Settings that no field inside an object of a row can be."""
_NUMBERS = frozenset(
    {"latency_ms", "latency_s", "input_tokens", "output_tokens", "cost"}
)
_NO_UNIT = frozenset(_WORDS["latency_s"]) - {
    "latency s",
    "duration s",
    "seconds",
    "time s",
    "耗时 s",
    "耗时秒",
    "耗时 秒",
}
_LONGEST_VERSION = 40
_MS_FROM = 100
"""A typical latency of at least this is in milliseconds, unless the name has a unit."""
_PARAMETER = re.compile(
    r"\b(temperature|top p|top k|seed|index|idx|row|rank|position|turn|turns|step|steps"
    r"|length|count|threshold|weight|year|month|day|cached|stream)\b|^(n|num) "
)
"""Names of parameters and counts."""
_NAMES_A_ROW = re.compile(r"(?<!\w)(id|ids|uid|uuid)$|编号$|序号$")
_DERIVED = re.compile(r"\bweighted (score|total|average|mean)\b|加权")
"""Names of numbers that a platform computes from the other scores."""
_BEST_AT_1 = re.compile(
    r"(?<!\w)(score|scores|accura\w*|acc|correct\w*|faithful\w*|relevan\w*|precision"
    r"|recall|f1|f score|bleu\w*|rouge\w*|meteor|bertscore|chrf\w*|similarity|match\w*"
    r"|em|quality|helpful\w*|coheren\w*|fluen\w*|consisten\w*|ground\w*|complete\w*"
    r"|concis\w*|clarity|clear\w*|factual\w*|valid\w*|adheren\w*|coverage|agreement|ndcg"
    r"|mrr|map|auc|hits?|pass\w*|success\w*|reward|win|wins|won|rating|grade|points|polite\w*"
    r"|safe\w*|useful\w*|good|right|is right|usefulness|preference|comprehens\w*)(?!\w)"
    r"|得分|分数|评分|打分|总分|准确|正确|相关|忠实|一致|完整|流畅|质量|满意|有用|安全"
)
"""Names of metrics for which 1 is best."""
_ASKS = re.compile(
    r"\b(questions?|quer(y|ies)|prompts?|inputs?|asked|instructions?|user)\b"
    r"|问|题目|输入|指令|提示词"
)
"""Names of questions, which are no answers."""
_EXPECTS = re.compile(
    r"\b(expect\w*|references?|gold(en)?|ideal|target|truth|label)\b"
    r"|参考|标准|期望|预期|标注|正确答案"
)
"""Names of expected answers, which are no answers of the model."""
_STATES = frozenset(
    (
        *SUCCEEDED,
        *("fail", "failed", "failure", "error", "errored"),
        *("terminal", "terminated", "timeout", "timed out", "cancelled", "canceled"),
        *("aborted", "processing", "running", "in_progress", "pending", "queueing"),
        *(
            "queued",
            "skipped",
            "unknown",
            "degraded",
            "partial",
        ),
        *("失败", "执行失败", "运行失败", "异常", "超时"),
        *("进行中", "运行中", "排队中", "终止", "已终止", "取消", "已取消"),
    )
)
"""Words for the state of a request: the answer of one that worked may be wrong."""
_MOST_SIBLINGS = 3
_VERSION = re.compile(r"([a-z]+[-_. ]?)?v\.?\d+([._-]\d+)*", re.IGNORECASE)


class NoGuess(InputError):
    """The names and cells of a table do not reveal the meaning of its columns."""


class Guess(NamedTuple):
    """A guess of the meaning of a table's columns."""

    mapping: TableMapping
    columns: list[str]
    notes: list[str]
    """Uncertain points, and how to correct the mapping."""


def guess(path: Path) -> Guess:
    """Guess the mapping of a table.

    Raises:
        NoGuess: No column is recognised; the message contains lines to start from.
        InputError: It is not a table.
    """
    rows, encoding = _first_rows(path)
    cells = _cells(rows)
    columns = list(dict.fromkeys(name for row in rows for name in row))
    fields = {
        name: plain_name(name.rpartition(".")[2])
        for name in cells
        if name.count(".") == 1 and name not in columns
    }
    states = [name for name, column in cells.items() if _are_states(column)]
    notes: list[str] = []
    settings, ids = _by_name(cells, fields, states)
    ids_of_rows = _take_id(path, ids, settings, cells, notes)
    _guess_unit(settings, cells, {name: plain_name(name) for name in cells}, notes)
    _swap_answers(settings, cells)
    if "time" not in settings:
        _guess_time(settings, cells, notes)
    if "verdict" not in settings:
        free = (n for n in cells if n not in settings.values() and n not in states)
        verdict = next((n for n in free if _are_verdicts(cells[n])), None)
        settings |= {} if verdict is None else {"verdict": verdict}
    if "inputs" in settings:
        settings["inputs"] = (settings["inputs"],)
    used = {*settings.values(), *settings.get("inputs", ()), *ids_of_rows}
    numbers = {
        name: column
        for name, column in cells.items()
        if name not in used
        and not is_nameless(name)
        and ("." not in name or name in columns or _is_score(fields.get(name)))
    }
    _guess_numbers(settings, numbers, notes)
    if states:
        _guess_state(states[0], settings, cells, notes)
    settings["encoding"] = encoding
    settings = {name: value for name, value in settings.items() if value}
    try:
        return Guess(TableMapping(**settings), columns, notes)
    except ValidationError as error:
        needed = error.errors()[0]["msg"].removeprefix("Value error, ")
        name = mapping_name(path)
        started = _start(cells, settings).model_copy(update={"encoding": encoding})
        start = mapping_as_toml(f"tables.{toml_key(name)}", started)
        raise NoGuess(
            f"{path}: no meaning could be guessed of {', '.join(columns)}: a mapping"
            f" {needed}. Write one by hand: put these lines at the end of"
            " promptlab.toml, and exchange columns that mean something else"
            f" (docs/tools/table.md has all settings):\n\n{start}"
        ) from None


def no_mapping_message(path: Path, form: str) -> str:
    """Return the message that a table has no mapping, and how to create one."""
    name = shlex.quote(os.path.relpath(path))
    try:
        guess(path)
        fix = f"`promptlab init --table {name}` guesses one"
    except NoGuess:
        fix = f"`promptlab init --table {name}` shows lines to start from"
    except InputError as error:
        fix = first_line(str(error).removeprefix(f"{path}: "), LONGEST_LINE) or ""
    shown = ", ".join(columns_of(path, form) or [])
    words = f"looks like a table ({form}: ", "), and no mapping in the config fits it: "
    room = LONGEST_LINE - sum(map(len, (path.name, " ", *words, fix)))
    if room < 1:  # the path is printed before it
        fix = fix.replace(f" --table {name}`", " --table` with this path")
        room = LONGEST_LINE - sum(map(len, (path.name, " ", *words, fix)))
    if len(shown) > max(room, 1):
        shown = f"{shown[: max(room - 1, 0)]}…"
    return f"{path.name} {words[0]}{shown}{words[1]}{fix}"


def _cells(rows: list[Row]) -> dict[str, list[Any]]:
    """Return the cells of each column, and of each field inside objects."""
    nested = [[n for n in nested_names(row) if not n[-1].isdecimal()] for row in rows]
    paths = list(dict.fromkeys(name for names in nested for name in names))
    rows = [with_nested(row, paths) for row in rows]
    columns = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in columns}


def _by_name(
    cells: dict[str, list[Any]], fields: dict[str, str], states: list[str]
) -> tuple[dict[str, Any], list[str]]:
    """Guess by the names of the columns, where the cells do not contradict.

    Args:
        cells: The cells of each column, and of each field inside objects.
        fields: Plain names of the fields inside objects.
        states: Columns with the state of a request, which are no verdicts.

    Returns:
        The column of each setting but ``case``, and the columns that may be ``case``:
        which of several it is, the questions show.
    """
    plain = {name: plain_name(name) for name in cells}
    settings: dict[str, Any] = {}
    ids: list[str] = []
    for setting, words in _WORDS.items():
        used = set(settings.values())
        named = [name for word in words for name in cells if plain[name] == word]
        if setting not in _OF_ROWS:
            named = _with_fields(setting, named, cells, fields)
        fitting = (
            name
            for name in named
            if not (setting == "verdict" and name in states)
            and name not in used
            and _suits(setting, cells[name])
        )
        if setting == "case":
            ids = list(fitting)
        elif column := next(fitting, None):
            settings[setting] = column
    return settings, ids


def _with_fields(
    setting: str, named: list[str], cells: dict[str, list[Any]], fields: dict[str, str]
) -> list[str]:
    """Add the fields inside objects that a setting's words name; drop those objects."""
    named = named + [
        name
        for word in _WORDS[setting]
        for name, field in fields.items()
        if field == word and not (setting == "expected" and _is_truth(cells[name]))
    ]
    objects = {name.rpartition(".")[0] for name in named if name in fields}
    return [name for name in named if name not in objects]


def _swap_answers(settings: dict[str, Any], cells: dict[str, list[Any]]) -> None:
    """Take "answer" as the expected one where another column has the output."""
    answer = settings.get("output")
    if "expected" in settings or answer is None or plain_name(answer) != "answer":
        return
    outputs = (
        name
        for word in _WORDS["output"][1:]
        for name in cells
        if plain_name(name) == word and name not in settings.values()
    )
    if output := next(outputs, None):
        settings |= {"output": output, "expected": answer}


def _is_truth(cells: list[Any]) -> bool:
    return all(isinstance(cell, bool | None) for cell in cells)


def _is_score(field: str | None) -> bool:
    return field is not None and _BEST_AT_1.search(field) is not None


def _take_id(
    path: Path,
    ids: list[str],
    settings: dict[str, Any],
    cells: dict[str, list[Any]],
    notes: list[str],
) -> list[str]:
    """Take the first column that identifies cases; return those that do not.

    An id with several questions in one task does not, nor does one that is new in
    every run of the same questions.
    """
    inputs = settings.get("inputs")
    of_task = ("title", "model", "prompt_version")
    within = [cells[settings[setting]] for setting in of_task if setting in settings]
    ids_of_rows: list[str] = []
    for name in ids:
        if name in settings.values():
            continue
        if inputs is None:
            settings["case"] = name
            break
        keys = [
            tuple(map(cell_text, key)) for key in zip(cells[name], *within, strict=True)
        ]
        questions = list(map(text_key, cells[inputs]))
        if len(set(zip(keys, questions, strict=True))) > len(set(keys)):
            ids_of_rows.append(name)
            notes.append(
                f"{name}: its values come again with other questions, so it is no id;"
                " the questions tell cases apart, unless case names a column"
            )
        elif _is_of_rows(path, name, inputs, cells):
            ids_of_rows.append(name)
            notes.append(
                f"{name}: is new in every row or run of the same questions, so it is no"
                " id of a case; the questions tell cases apart, unless case names a"
                " column"
            )
        else:
            settings["case"] = name
            break
    return ids_of_rows


def _is_of_rows(
    path: Path, name: str, inputs: str, cells: dict[str, list[Any]]
) -> bool:
    """Return true if an id never repeats, and the questions do.

    They may repeat in the rows of several runs, or in tables next to this one.
    """
    ids, questions = set(map(cell_text, cells[name])), set(map(text_key, cells[inputs]))
    n_rows = len(cells[name])
    if len(ids) == n_rows and 2 * len(questions) <= n_rows:
        return True
    for beside in _beside(path):
        rows = [row for row in beside if name in row and inputs in row]
        again = {text_key(row[inputs]) for row in rows} & questions
        if 2 * len(again) > len(questions):
            return not ids & {cell_text(row[name]) for row in rows}
    return False


def _beside(path: Path) -> Iterator[list[Row]]:
    """Yield the first rows of the tables in the same folder."""
    try:
        others = sorted(file for file in path.parent.iterdir() if file != path)
    except OSError:
        return
    alike = (file for file in others if file.suffix == path.suffix and file.is_file())
    for file in islice(alike, _MOST_SIBLINGS):
        with suppress(InputError):
            yield _first_rows(file)[0]


def _guess_time(
    settings: dict[str, Any], cells: dict[str, list[Any]], notes: list[str]
) -> None:
    """Take the only column with times; name the columns if there are several."""
    used = settings.values()
    free = (name for name in cells if name not in used and not is_nameless(name))
    times = [name for name in free if are_times(cells[name])]
    if len(times) == 1:
        settings["time"] = times[0]
    elif times:
        notes.append(
            f"{', '.join(times)}: write time = {_toml(times[0])}, or the other, to say"
            " when the answers were made"
        )


def _guess_unit(
    settings: dict[str, Any],
    cells: dict[str, list[Any]],
    plain: dict[str, str],
    notes: list[str],
) -> None:
    """Read a latency without a unit as milliseconds if its numbers are large."""
    name = settings.get("latency_s")
    if name is None or plain[name] not in _NO_UNIT:
        return
    numbers = [v for cell in cells[name] if (v := number_of(cell)) is not None]
    if median(numbers) < _MS_FROM:
        notes.append(f"{name}: read as seconds; if these are ms, write latency_ms")
    elif "latency_ms" not in settings:
        settings["latency_ms"] = settings.pop("latency_s")
        notes.append(
            f"{name}: its numbers are large, so they are read as ms; if these are"
            " seconds, write latency_s"
        )
    else:
        del settings["latency_s"]


def _guess_state(
    name: str, settings: dict[str, Any], cells: dict[str, list[Any]], notes: list[str]
) -> None:
    """Read the state of a request as its error, if what did not work has no answer."""
    if name in settings.values():
        return
    output = cells.get(settings.get("output", ""), [])
    states = [(cell_text(cell) or "success").strip().lower() for cell in cells[name]]
    answered = [
        state not in SUCCEEDED and not is_nothing(cell)
        for state, cell in zip(states, output, strict=False)
    ]
    is_judged = "verdict" in settings or settings.get("scores")
    if is_judged and output and "error" not in settings and not any(answered):
        settings["error"] = name
        notes.append(
            f"{name}: seems to say whether a request worked, which does not make its"
            " answer right, so it is no verdict; another word than"
            f" {next((each for each in states if each in SUCCEEDED), 'success')}"
            " is an error"
        )
    elif "verdict" not in settings:
        notes.append(
            f"{name}: seems to say whether a request worked, which does not make its"
            " answer right, so it is no verdict; if it is one, write verdict ="
            f" {_toml(name)}"
        )


def _guess_numbers(
    settings: dict[str, Any], cells: dict[str, list[Any]], notes: list[str]
) -> None:
    """Divide numeric columns into scores, values and columns kept unchanged."""
    scores: list[str] = []
    values: list[str] = []
    lower: list[str] = []
    numbers = {name: column for name, column in cells.items() if mostly_numbers(column)}
    is_evaluated = any(evaluator_of(name)[1] for name in numbers)
    for name, column in numbers.items():
        plain = plain_name(name)
        if _NAMES_A_ROW.search(plain):
            notes.append(f"{name}: seems to be an id, and is kept with a row")
        elif _DERIVED.search(plain) and len(numbers) > 1:
            notes.append(
                f"{name}: seems to be computed from the other scores, and is kept with"
                " a row"
            )
        elif is_evaluated and evaluator_of(name)[1] and _on_scale(column):
            scores.append(name)
        elif LESS_IS_BETTER.search(plain):
            values.append(name)
            lower.append(name)
            if _on_scale(column):
                notes.append(
                    f"{name}: less seems better, so it is compared and not graded; to"
                    " grade it move it to scores and write"
                    f" scales = {{ {toml_key(name)} = [1, 0] }}"
                )
        elif _PARAMETER.search(plain):
            notes.append(
                f"{name}: does not seem to be a result, and is kept with a row"
            )
        elif _on_scale(column) and _BEST_AT_1.search(plain):
            scores.append(name)
        else:
            values.append(name)
            if _on_scale(column):
                notes.append(
                    f"{name}: is 1 the best? Then move it to scores to grade it"
                )
            elif _BEST_AT_1.search(plain):
                notes.append(
                    f"{name}: to grade it move it to scores and write"
                    f" scales = {{ {toml_key(name)} = [worst, best] }}"
                )
    settings["scores"] = tuple(scores)
    settings["values"] = tuple(values)
    settings["lower_is_better"] = tuple(lower)


def _start(cells: dict[str, list[Any]], settings: dict[str, Any]) -> TableMapping:
    """Return a mapping to correct, for columns that were not recognised.

    The column of questions is not that of answers, unless there is only one column.
    """
    plain = {name: plain_name(name) for name in cells}
    kept = ("case", "inputs", "output", "verdict")
    start = {name: value for name, value in settings.items() if name in kept}
    if not start.keys() & {"case", "inputs"}:
        questions = [name for name in cells if _ASKS.search(plain[name])]
        texts = {name: list(map(cell_text, column)) for name, column in cells.items()}
        unique = (name for name in cells if len(set(texts[name])) == len(texts[name]))
        if questions or (case := next(unique, None)) is None:
            start["inputs"] = (*questions, *cells)[:1]
        else:
            start["case"] = case
    numbers = {*settings.get("scores", ()), *settings.get("values", ())}
    asking = {start.get("case"), *start.get("inputs", ())}

    def likelihood(name: str) -> tuple[bool, bool, int]:
        is_other = _ASKS.search(plain[name]) or _EXPECTS.search(plain[name])
        written = (cell_text(cell) or "" for cell in cells[name])
        return not is_other, name not in numbers, sum(map(len, written))

    free = [name for name in cells if name not in (*asking, start.get("verdict"))]
    if "output" not in start and (free or "verdict" not in start):
        no_questions = [name for name in cells if not _ASKS.search(plain[name])]
        answers = [name for name in free if name in no_questions]
        start["output"] = max(answers or no_questions or free or cells, key=likelihood)
    used = {*asking, start.get("output")}
    for setting in ("scores", "values"):
        start[setting] = tuple(n for n in settings.get(setting, ()) if n not in used)
    return TableMapping(**start)


def _first_rows(path: Path) -> tuple[list[Row], str | None]:
    """Return the first rows, and the encoding of the table if it is a guess."""
    try:
        check_regular(path)
        with path.open("rb") as file:
            head = file.read(1 << 20)
        form = form_of(head)
        if form is None and head_of(head).is_header_alone:
            raise InputError(f"{path}: holds no row below its columns")
        if form is None:
            raise InputError(
                f"{path}: is no table: expected CSV, TSV, JSON, JSONL, Parquet or XLSX"
            )
        size = path.stat().st_size
        source = Source(path, path.stem, str(path), size=size, form=form)
        table_rows = rows_of(source, form, numbers=None)
        read = (row[1] for row in table_rows if not isinstance(row, Problem))
        rows = list(islice(read, _ROWS))
        if not rows:
            raise InputError(f"{path}: holds no row below its columns")
        text = decoded(path.read_bytes()) if form == "csv" else None
        return rows, text.encoding if text and text.is_guess else None
    except OSError as error:
        why = error.strerror or error
        raise InputError(f"{path}: cannot be read: {why}") from None
    except Refused as error:
        raise InputError(f"{path}: {error}") from None


def _suits(setting: str, cells: list[Any]) -> bool:
    if setting in _NUMBERS:
        return mostly_numbers(cells)
    if setting == "verdict":
        odd = sum(verdict_of(cell) is None for cell in cells)
        return is_few(odd, len(cells))
    if setting == "round":
        there = [cell for cell in cells if not is_nothing(cell)]
        return bool(there) and all(number_of(cell) is not None for cell in there)
    if setting == "expected":
        return not _are_verdicts(cells)
    if setting == "inputs":
        return not _are_versions(cells)
    if setting == "prompt_version":
        there = [str(cell) for cell in cells if not is_nothing(cell)]
        return max(map(len, there), default=0) <= _LONGEST_VERSION and not any(
            any(map(str.isspace, text)) for text in there
        )
    if setting == "time":
        there = [cell for cell in cells if not is_nothing(cell)]
        odd = sum(moment(cell) is None for cell in there)
        return len(there) > odd and is_few(odd, len(there))
    if setting == "case":
        return not any(is_nothing(cell) for cell in cells)
    return True


def _are_verdicts(cells: list[Any]) -> bool:
    """Return whether all cells are words for pass and fail, other than yes and no.

    One word among empty cells may be a mark that a person put on some rows.
    """
    there = [cell for cell in cells if not is_nothing(cell)]
    is_mark = len(there) < len(cells) and len(set(map(verdict_of, there))) == 1
    return bool(there) and not is_mark and all(map(is_verdict_word, there))


def _are_states(cells: list[Any]) -> bool:
    """Return whether all cells are words for the state of a request."""
    there = {
        text for cell in cells if not is_nothing(cell) for text in [cell_text(cell)]
    }
    return bool(there) and all(
        text is not None and text.strip().lower() in _STATES for text in there
    )


def _are_versions(cells: list[Any]) -> bool:
    """Return whether all cells are like ``v2`` or ``prompt-v1.3``."""
    there = [cell for cell in cells if not is_nothing(cell)]
    return bool(there) and all(_VERSION.fullmatch(str(cell)) for cell in there)


def _on_scale(cells: Iterable[Any]) -> bool:
    numbers = (number_of(cell) for cell in cells)
    return all(0 <= number <= 1 for number in numbers if number is not None)


def mapping_name(path: Path) -> str:
    """Return the name of the mapping of a file, without a date: for people."""
    name = without_date(path.stem).lower()
    return re.sub(r"[\W_]+", "_", name).strip("_") or "table"


def toml_key(name: str) -> str:
    """Return a key of TOML: in quotes, if it has letters other than English ones."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml(name)


def mapping_as_toml(
    header: str, mapping: TableMapping, notes: Iterable[str] = ()
) -> str:
    """Return the section of a config with a mapping."""
    lines = [f"[{header}]  # what the columns mean; guessed, correct it"]
    for name in TableMapping.model_fields:
        value = getattr(mapping, name)
        if value and name not in ("fixed", "scales"):
            shown = _toml(value) if isinstance(value, str) else None
            shown = shown or f"[{', '.join(map(_toml, value))}]"
            lines.append(f"{name} = {shown}")
    missing = [n for n in ("model", "prompt_version") if getattr(mapping, n) is None]
    settings = ", ".join(f'{name} = "…"' for name in missing)
    if missing:
        lines.append(f"# fixed = {{ {settings} }}  # the same for the whole table")
    in_one_line = str.maketrans(dict.fromkeys([*range(32), 127], " "))
    lines += [f"# {note.translate(in_one_line)}" for note in notes]
    return "\n".join(lines) + "\n"


def _toml(value: str) -> str:
    # a JSON string is a TOML string, except for one control character
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")

"""Rows of ``raw`` that come from no file: what people asked for, what has its report.

A request bears the time of its transaction, and so does a build: one that is made in
the transaction of its request has answered it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    import duckdb


def request_comparison(
    con: duckdb.DuckDBPyConnection, baseline: str, candidate: str
) -> None:
    """Ask that two tasks be compared, by this build and every later one."""
    con.execute(
        "insert into raw.requested_comparisons values (?, ?, current_timestamp)",
        [baseline, candidate],
    )


def name_baseline(
    con: duckdb.DuckDBPyConnection,
    title: str,
    testset_id: str | None,
    task_id: str | None,
) -> None:
    """Name the baseline of one title and testset; ``None`` takes it back."""
    con.execute(
        "insert into raw.named_baselines values (?, ?, ?, current_timestamp)",
        [title, testset_id, task_id],
    )


def record_decisions(
    con: duckdb.DuckDBPyConnection,
    decisions: Sequence[tuple[str, str]],
    policy_hash: str,
) -> int:
    """Append decisions of the gate that differ from the newest ones recorded.

    Args:
        con: A connection that may write.
        decisions: Task and decision.
        policy_hash: Hash of the policy that was in force.

    Returns:
        How many rows were added.
    """
    rows = con.execute(
        """
        insert into raw.decisions
        select decided.task_id, $policy_hash, decided.decision, current_timestamp
        from (
            select unnest($tasks) as task_id, unnest($decisions) as decision
        ) as decided
        left join (
            select
                task_id,
                max_by(decision, decided_at) as decision,
                max_by(policy_hash, decided_at) as policy_hash
            from raw.decisions
            group by task_id
        ) as newest using (task_id)
        where
            newest.decision is distinct from decided.decision
            or newest.policy_hash is distinct from $policy_hash
        returning task_id
        """,
        {
            "policy_hash": policy_hash,
            "tasks": [task_id for task_id, _ in decisions],
            "decisions": [decision for _, decision in decisions],
        },
    ).fetchall()
    return len(rows)


def note_reported(con: duckdb.DuckDBPyConnection, began_at: datetime) -> None:
    """Note that everything that was built before *began_at* has its report."""
    con.execute("insert into raw.reported_runs values (?)", [began_at])

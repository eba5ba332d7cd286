"""When a build may leave a query out because the tables that it reads are empty."""

import itertools

import duckdb
import pytest

from promptlab.build import plan
from promptlab.build.dbt import Emptiness

T, U, V = ('"s"."t"', '"s"."u"', '"s"."v"')

QUERIES = {
    f"select a from {T}": [{T}],
    f"with x as (select a from {T} where a > 0) select * from x": [{T}],
    f"select t.a from {T} as t join {U} as u on t.a = u.a": [{T}, {U}],
    f"select t.a from {T} as t, {U} as u": [{T}, {U}],
    f"select t.a from {T} as t left join {U} as u on t.a = u.a": [{T}],
    f"select t.a from {T} as t full join {U} as u on t.a = u.a": [{T, U}],
    f"select t.a from {T} as t right join {U} as u on t.a = u.a": [],
    f"select t.a from {T} as t semi join {U} as u on t.a = u.a": [{T}, {U}],
    f"select t.a from {T} as t anti join {U} as u on t.a = u.a": [{T}],
    f"select t.a from {T} as t positional join {U} as u": [],
    f"from {T} union all from {U}": [{T, U}],
    f"from {T} union by name from {U}": [{T, U}],
    f"from {T} except all from {U}": [],
    f"(from {T} union all from {U}) union all select 1": [],
    f"select t.a from (from {T} union all from {U}) as t join {V} using (a)": [
        {V},
        {T, U},
    ],
    f"select a from {T} where a in (select a from {U})": [{T}, {U}],
    f"select a from {T} where a > 0 and exists (from {U})": [{T}, {U}],
    f"select a from {T} where a = 1 or a in (select a from {U})": [{T}],
    f"select a from {T} where a in (from {U}) or a in (from {V})": [{T}, {U, V}],
    f"select a from {T} where a not in (select a from {U})": [{T}],
    f"select a from {T} where a >= all (select a from {U})": [{T}],
    f"select a, count(*) from {T} group by a": [{T}],
    f"select a, count(*) from {T} group by all": [{T}],
    f"select count(*), max(a) + 1 from {T} group by all": [],
    f"select count(*) from {T}": [],
    f"select count(*) filter (where a > 0) + 1 from {T}": [],
    f"select 1 from {T} having count(*) >= 0": [],
    f"select count(*) from {T} group by ()": [],
    f"select a, count(*) from {T} group by rollup (a)": [],
    f"select a, sum(a) over (order by a) from {T}": [{T}],
    f"select a, (select count(*) from {U}) from {T}": [{T}],
    f"select unnest([a, a]) from {T}": [{T}],
    f"select r.i from {T} as t, range(3) as r(i)": [{T}],
    f"select distinct a from {T} qualify row_number() over (order by a) = 1": [{T}],
    "select 1": [],
    "values (1)": [],
    "select * from range(3)": [],
    f"select a from {T} union all values (1)": [],
    f"with recursive r as (select 1 as a union all select a + 1 from r where a < 3)"
    f" select r.a from r join {T} using (a)": [{T}],
}


@pytest.fixture(scope="module")
def con():
    con = duckdb.connect()
    con.execute("create schema s")
    for table in (T, U, V):
        con.execute(f"create table {table} (a integer)")
    return con


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_is_empty_whenever_the_tables_of_a_set_are(con, query):
    found = {frozenset(tables) for tables in Emptiness(con).table_sets(query)}
    assert found == {frozenset(tables) for tables in QUERIES[query]}
    for filled in itertools.product([False, True], repeat=3):
        empty = set()
        for table, has_rows in zip((T, U, V), filled, strict=True):
            con.execute(f"truncate table {table}")
            if has_rows:
                con.execute(f"insert into {table} values (1), (2)")
            else:
                empty.add(table)
        if any(tables <= empty for tables in found):
            assert con.execute(query).fetchall() == []


def test_a_view_is_as_empty_as_the_tables_behind_it(con):
    emptiness = Emptiness(con)
    emptiness.add_view(V, f"select t.a from {T} as t join {U} as u using (a)")
    assert {frozenset({T}), frozenset({U})} == set(emptiness.table_sets(f"from {V}"))


def test_without_labels_a_build_leaves_out_what_reads_them():
    nodes = {node.name: node for node in plan.load().nodes}
    assert ['"raw"."labels"'] in nodes["fct_labels"].empty_if
    assert ['"marts"."fct_labels"'] in nodes["fct_judge_agreement"].empty_if
    kept = [node for node in nodes.values() if node.kind == "incremental"]
    assert [node.name for node in kept if not node.empty_if] == []

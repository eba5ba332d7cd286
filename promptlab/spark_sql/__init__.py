"""DuckDB's SQL in the words of Apache Spark.

The models are DuckDB SQL. Before Spark sees one, `to_spark` reads it with sqlglot and
writes it as Spark SQL: what has another name or meaning there is replaced by the rules
of `lists`, `json`, `numbers`, `text` and `patterns`; everything else stays as it is.
sqlglot comes with the extra ``spark`` and is imported here only.
"""

from promptlab.spark_sql import json, lists, numbers, patterns, text
from promptlab.spark_sql.rules import Rule, Untranslatable
from promptlab.spark_sql.translation import to_spark

__all__ = ["RULES", "Rule", "Untranslatable", "to_spark"]

RULES: list[Rule] = [
    *json.RULES,
    *lists.RULES,
    *numbers.RULES,
    *text.RULES,
    *patterns.RULES,
]

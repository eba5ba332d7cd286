"""Somebody's own dbt project with ours as a package, on the same warehouse."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from promptlab.cli import run_cli
from promptlab.pipeline import Warehouse
from tests.conftest import EXAMPLES
from tests.docs.markdown import code_blocks

FILES = {
    "dbt_project.yml": """
        name: theirs
        version: "1.0"
        profile: theirs
        models: {theirs: {+materialized: table}}
    """,
    "profiles.yml": """
        theirs:
          target: dev
          outputs:
            dev: {type: duckdb, path: "{{ env_var('PROMPTLAB_DB') }}", settings: {TimeZone: UTC}}
    """,
    "models/passing_tasks.sql": """
        select task_id from {{ ref('fct_task_summaries') }} where n_fail = 0
    """,
}

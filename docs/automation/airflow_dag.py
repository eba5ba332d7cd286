"""Load last night's results, run the gate, and mail the changes (Airflow 2.8)."""

from datetime import datetime

from airflow import DAG
from airflow.operators.bash import BashOperator

with DAG(
    "promptlab",
    schedule="0 5 * * *",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,  # one process writes to a warehouse
) as dag:
    load = BashOperator(
        task_id="load",
        bash_command="cd ${PROMPTLAB_HOME:-.} && promptlab run results --out out",
    )
    digest = BashOperator(
        task_id="digest",
        bash_command="cd ${PROMPTLAB_HOME:-.} && promptlab digest --since 1d --out out",
        skip_on_exit_code=5,  # nothing changed
    )
    gate = BashOperator(
        task_id="gate",
        bash_command="cd ${PROMPTLAB_HOME:-.} && promptlab gate latest",
    )
    load >> [digest, gate]

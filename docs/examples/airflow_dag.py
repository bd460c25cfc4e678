"""Airflow 3: `siltstone catch-up` each hour. Exit codes 6 and 75 are retried, all others fail the task at once."""

from datetime import datetime, timedelta

from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG
from airflow.sdk.exceptions import AirflowException, AirflowFailException

PROJECT = "/srv/lake"
REPORT = f"{PROJECT}/report/index.html"  # or the address under `report` in siltstone.yaml
RETRIED = (6, 75)


class CatchUp(BashOperator):
    """A BashOperator that retries some exit codes, and a run that was killed by a signal."""

    def execute(self, context):
        try:
            return super().execute(context)
        except AirflowException as error:
            process = self.subprocess_hook.sub_process
            if process is None or process.returncode in RETRIED or process.returncode < 0:
                raise  # Airflow retries
            message = f"siltstone ended with exit code {process.returncode}. Report: {REPORT}"
            raise AirflowFailException(message) from error


with DAG(
    dag_id="siltstone",
    schedule="@hourly",
    start_date=datetime(2026, 1, 1),
    catchup=False,
    max_active_runs=1,
    default_args={"retries": 3, "retry_delay": timedelta(minutes=5)},
):
    CatchUp(task_id="catch_up", bash_command=f"exec {PROJECT}/.venv/bin/siltstone catch-up --wait 1800", cwd=PROJECT)

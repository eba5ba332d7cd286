{{ config(materialized='view') }}

{{ judge_verdicts() }}

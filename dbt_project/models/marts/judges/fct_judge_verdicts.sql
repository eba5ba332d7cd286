{{ config(materialized=view_of_step()) }}

{{ judge_verdicts() }}

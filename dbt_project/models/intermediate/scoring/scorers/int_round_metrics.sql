{{ config(materialized=view_of_step()) }}

-- One row per round and dimension: the metric, or the reason for none, of every scorer but
-- stability, which int_round_scores adds.
select * from {{ ref('promptlab', 'int_accuracy_scored') }}

union all

select * from {{ ref('promptlab', 'int_accuracy_by_json_scored') }}

union all

select * from {{ ref('promptlab', 'int_checks_scored') }}

union all

select * from {{ ref('promptlab', 'int_consistency_scored') }}

union all

select * from {{ ref('promptlab', 'int_format_scored') }}

union all

select * from {{ ref('promptlab', 'int_measures_scored') }}

union all

select * from {{ ref('promptlab', 'int_keywords_scored') }}

union all

select * from {{ ref('promptlab', 'int_judged_scored') }}

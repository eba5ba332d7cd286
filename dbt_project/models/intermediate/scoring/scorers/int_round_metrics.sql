{{ config(materialized=view_of_step()) }}

select * from {{ ref('int_accuracy_scored') }}

union all

select * from {{ ref('int_accuracy_by_json_scored') }}

union all

select * from {{ ref('int_checks_scored') }}

union all

select * from {{ ref('int_consistency_scored') }}

union all

select * from {{ ref('int_format_scored') }}

union all

select * from {{ ref('int_measures_scored') }}

union all

select * from {{ ref('int_keywords_scored') }}

union all

select * from {{ ref('int_judged_scored') }}

{{ config(materialized=view_of_step()) }}

-- Every comparison with its paired tests; only what is all or nothing on a dimension passes.
{{ paired_tests(
    ref('int_comparison_sums'),
    ['baseline_task_id', 'candidate_task_id', 'level', 'subject'],
    "level <> 'dimension' or is_all_or_nothing",
) }}

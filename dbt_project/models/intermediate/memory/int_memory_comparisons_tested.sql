{{ config(materialized=view_of_step()) }}

-- The same with its paired tests. An answer passes by the metric that says what is right, or
-- by one that is all or nothing.
{{ paired_tests(
    ref('int_memory_comparison_sums'),
    [
        'baseline_run_id', 'candidate_run_id', 'metric', 'level', 'category', 'n_tasks',
        'is_right_metric',
    ],
    'is_right_metric or is_all_or_nothing',
) }}

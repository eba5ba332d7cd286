{{ config(unique_key='candidate_task_id', meta={'batch': 'comparisons'}) }}

-- One row per compared pair of tasks and note on what their comparison leaves out.
with

pairs as (select * from {{ ref('promptlab', 'fct_task_pairs') }} where {{ in_this_build('comparisons') }}),
task_pairs as (select * from {{ ref('promptlab', 'int_task_pairs') }} where {{ in_this_build('comparisons') }}),
tests as (select * from {{ ref('promptlab', 'int_comparison_tests') }}),
dimensions as (select * from tests where level = 'dimension' and verdict = 'not_comparable'),
unscored_cases as (select * from {{ ref('promptlab', 'int_cases_compared') }} where reason like 'no%'),
kinds as (select * from {{ ref('promptlab', 'promptlab_comparison_notes') }}),
partial as (select * from {{ ref('promptlab', 'int_partial_tasks') }}),
contents as (
    select * from {{ ref('promptlab', 'int_task_contents') }}
    where
        task_id in (select task_pairs.baseline_task_id from task_pairs)
        or task_id in (select task_pairs.candidate_task_id from task_pairs)
),

unscored as (

    select
        baseline_task_id,
        candidate_task_id,
        count(*) as n_unscored

    from unscored_cases
    group by baseline_task_id, candidate_task_id

),

described as (

    select
        pairs.*,
        unscored.n_unscored,
        coalesce(contents_before.settings_hash, '') <> coalesce(contents_now.settings_hash, '')
            as has_other_settings,
        of_baselines.n_rows_held as baseline_rows_held,
        of_baselines.n_rows_claimed as baseline_rows_claimed,
        of_candidates.n_rows_held as candidate_rows_held,
        of_candidates.n_rows_claimed as candidate_rows_claimed

    from pairs
    inner join task_pairs using (baseline_task_id, candidate_task_id)
    inner join contents as contents_before
        on pairs.baseline_task_id = contents_before.task_id
    inner join contents as contents_now on pairs.candidate_task_id = contents_now.task_id
    left join unscored using (baseline_task_id, candidate_task_id)
    left join partial as of_baselines on pairs.baseline_task_id = of_baselines.task_id
    left join partial as of_candidates on pairs.candidate_task_id = of_candidates.task_id

),

of_pairs as (

    select
        described.baseline_task_id,
        described.candidate_task_id,
        described.baseline_testset_id,
        described.candidate_testset_id,
        described.baseline_rows_held,
        described.baseline_rows_claimed,
        described.candidate_rows_held,
        described.candidate_rows_claimed,
        kinds.note,
        case kinds.note
            when 'inputs_differ' then described.n_inputs_differ
            when 'expectations_differ' then described.n_expectations_differ
            when 'references_differ' then described.n_references_differ
            when 'assertions_differ' then described.n_assertions_differ
            when 'unscored_cases' then described.n_unscored
            when 'cases_removed' then described.n_removed
            when 'cases_added' then described.n_added
        end as n,
        case kinds.note
            when 'baseline_partial' then described.baseline_rows_held is not null
            when 'candidate_partial' then described.candidate_rows_held is not null
            when 'testset_differs'
                then (described.baseline_testset_id is distinct from described.candidate_testset_id)
            when 'weights_differ' then described.has_other_weights
            when 'settings_differ' then described.has_other_settings
        end as is_due

    from described
    cross join kinds

),

noted as (

    select
        baseline_task_id,
        candidate_task_id,
        cast(null as string) as dimension_id,
        note,
        n,
        case note
            when 'testset_differs'
                then json_object(
                    'baseline_testset_id', baseline_testset_id,
                    'candidate_testset_id', candidate_testset_id
                )
            when 'baseline_partial'
                then json_object(
                    'n_rows_held', baseline_rows_held, 'n_rows_claimed', baseline_rows_claimed
                )
            when 'candidate_partial'
                then json_object(
                    'n_rows_held', candidate_rows_held, 'n_rows_claimed', candidate_rows_claimed
                )
            else cast('{}' as json)
        end as facts

    from of_pairs
    where is_due or n > 0

    union all

    select
        baseline_task_id,
        candidate_task_id,
        subject as dimension_id,
        'dimension_not_comparable' as note,
        cast(null as bigint) as n,
        {{ comparison_facts('dimensions') }} as facts

    from dimensions

),

final as (

    select

        ---------- ids
        noted.baseline_task_id,
        noted.candidate_task_id,
        noted.dimension_id,

        ---------- strings
        noted.note,

        ---------- numerics
        cast(row_number() over (
            partition by noted.baseline_task_id, noted.candidate_task_id
            order by kinds.note_position, noted.dimension_id nulls last
        ) as bigint) as note_position,
        noted.n,

        ---------- json
        noted.facts

    from noted
    inner join kinds using (note)

)

select * from final

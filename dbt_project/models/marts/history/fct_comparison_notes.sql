{{ config(unique_key='candidate_task_id', meta={'batch': 'comparisons'}) }}

with

pairs as (select * from {{ ref('fct_task_pairs') }} where {{ in_this_build('comparisons') }}),
task_pairs as (select * from {{ ref('int_task_pairs') }} where {{ in_this_build('comparisons') }}),
dimensions as (
    select * from {{ ref('int_comparisons_judged') }}
    where level = 'dimension' and verdict = 'not_comparable'
),
unscored_cases as (select * from {{ ref('int_cases_compared') }} where reason like 'no%'),
templates as (select * from {{ ref('comparison_notes') }}),
partial as (select * from {{ ref('int_partial_tasks') }}),

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
        task_pairs.is_baseline_changed,
        cast(of_baselines.n_rows_held as string)
        || coalesce(' / ' || cast(of_baselines.n_rows_claimed as string), '') as baseline_rows,
        cast(of_candidates.n_rows_held as string)
        || coalesce(' / ' || cast(of_candidates.n_rows_claimed as string), '') as candidate_rows,
        coalesce(pairs.baseline_testset_id, '–') as baseline_testset,
        coalesce(pairs.candidate_testset_id, '–') as candidate_testset

    from pairs
    inner join task_pairs using (baseline_task_id, candidate_task_id)
    left join unscored using (baseline_task_id, candidate_task_id)
    left join partial as of_baselines on pairs.baseline_task_id = of_baselines.task_id
    left join partial as of_candidates on pairs.candidate_task_id = of_candidates.task_id

),

of_pairs as (

    select
        described.baseline_task_id,
        described.candidate_task_id,
        cast(null as string) as dimension_id,
        templates.note,
        case templates.note
            when 'inputs_differ' then described.n_inputs_differ
            when 'expectations_differ' then described.n_expectations_differ
            when 'references_differ' then described.n_references_differ
            when 'unscored_cases' then described.n_unscored
            when 'cases_removed' then described.n_removed
            when 'cases_added' then described.n_added
        end as n,
        case templates.note
            when 'baseline_partial' then described.baseline_rows
            when 'candidate_partial' then described.candidate_rows
            when 'baseline_changed' then described.baseline_task_id
            when 'testset_differs'
                then described.baseline_testset || ' → ' || described.candidate_testset
        end as detail,
        case templates.note
            when 'baseline_partial' then described.baseline_rows is not null
            when 'candidate_partial' then described.candidate_rows is not null
            when 'baseline_changed' then described.is_baseline_changed
            when 'testset_differs' then described.baseline_testset <> described.candidate_testset
            when 'weights_differ' then described.has_other_weights
        end as is_due

    from described
    cross join templates

),

facts as (

    select
        baseline_task_id,
        candidate_task_id,
        dimension_id,
        note,
        n,
        detail,
        detail as detail_en

    from of_pairs
    where is_due or n > 0

    union all

    -- their sentence is the verdict's
    select
        baseline_task_id,
        candidate_task_id,
        subject as dimension_id,
        'dimension_not_comparable' as note,
        cast(null as bigint) as n,
        trim(trailing '。' from conclusion) as detail,
        trim(trailing '.' from conclusion_en) as detail_en

    from dimensions

),

final as (

    select

        ---------- ids
        facts.baseline_task_id,
        facts.candidate_task_id,
        facts.dimension_id,

        ---------- strings
        facts.note,
        {{ filled('templates.template', {
            'n': 'cast(facts.n as string)', 'detail': 'facts.detail',
        }) }} as message,
        {{ filled('templates.template_en', {
            'n': 'cast(facts.n as string)', 'detail': 'facts.detail_en',
        }) }} as message_en,

        ---------- numerics
        cast(row_number() over (
            partition by facts.baseline_task_id, facts.candidate_task_id
            order by templates.note_position, facts.dimension_id nulls last
        ) as bigint) as note_position,
        facts.n

    from facts
    inner join templates using (note)

)

select * from final

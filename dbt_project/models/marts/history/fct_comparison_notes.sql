with

pairs as (

    select * from {{ ref('fct_task_pairs') }}

),

baselines as (

    select * from {{ ref('dim_task_baselines') }}
    where is_baseline_changed

),

dimensions as (

    select * from {{ ref('fct_task_comparisons') }}
    where level = 'dimension' and verdict = 'not_comparable'

),

case_changes as (

    select * from {{ ref('fct_case_changes') }}
    where reason like 'no%'

),

templates as (

    select * from {{ ref('comparison_notes') }}

),

unscored as (

    select
        baseline_task_id,
        candidate_task_id,
        count(*) as n

    from case_changes
    group by baseline_task_id, candidate_task_id

),

facts as (

    select
        baseline_task_id,
        task_id as candidate_task_id,
        'baseline_changed' as note,
        cast(null as bigint) as n,
        baseline_task_id as detail,
        baseline_task_id as detail_en,
        cast(null as varchar) as dimension_id

    from baselines
    where baseline_source = 'named'

    union all

    select
        baseline_task_id,
        candidate_task_id,
        'testset_differs' as note,
        cast(null as bigint) as n,
        coalesce(baseline_testset_id, '–') || ' → ' || coalesce(candidate_testset_id, '–') as detail,
        coalesce(baseline_testset_id, '–') || ' → ' || coalesce(candidate_testset_id, '–')
            as detail_en,
        cast(null as varchar) as dimension_id

    from pairs
    where baseline_testset_id is distinct from candidate_testset_id

    {%- for note, count in [
        ('inputs_differ', 'n_inputs_differ'),
        ('expectations_differ', 'n_expectations_differ'),
        ('references_differ', 'n_references_differ'),
        ('cases_removed', 'n_removed'),
        ('cases_added', 'n_added'),
    ] %}

    union all

    select
        baseline_task_id,
        candidate_task_id,
        '{{ note }}' as note,
        {{ count }} as n,
        null as detail,
        null as detail_en,
        null as dimension_id

    from pairs
    where {{ count }} > 0
    {%- endfor %}

    union all

    select
        baseline_task_id,
        candidate_task_id,
        'weights_differ' as note,
        null as n,
        null as detail,
        null as detail_en,
        null as dimension_id

    from pairs
    where has_other_weights

    union all

    select
        baseline_task_id,
        candidate_task_id,
        'unscored_cases' as note,
        n,
        null as detail,
        null as detail_en,
        null as dimension_id

    from unscored

    union all

    -- their sentence is the verdict's
    select
        baseline_task_id,
        candidate_task_id,
        'dimension_not_comparable' as note,
        null as n,
        rtrim(conclusion, '。') as detail,
        rtrim(conclusion_en, '.') as detail_en,
        dimension_id

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
            'n': 'cast(facts.n as varchar)', 'detail': 'facts.detail',
        }) }} as message,
        {{ filled('templates.template_en', {
            'n': 'cast(facts.n as varchar)', 'detail': 'facts.detail_en',
        }) }} as message_en,

        ---------- numerics
        row_number() over (
            partition by facts.baseline_task_id, facts.candidate_task_id
            order by templates.note_position, facts.dimension_id
        ) as note_position,
        facts.n

    from facts
    inner join templates on facts.note = templates.note

)

select * from final

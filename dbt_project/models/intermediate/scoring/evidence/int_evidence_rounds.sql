-- At most ten rounds per dimension, the worst first; among equals first one round of each
-- case, then the next.
with

round_scores as (

    select * from {{ ref('fct_round_scores') }}
    where score is not null

),

dimensions as (

    select * from {{ ref('int_dimensions_resolved') }}

),

metrics as (

    select * from {{ ref('int_round_metrics') }}

),

in_case as (

    select
        *,
        row_number() over (
            partition by task_id, dimension_id, case_id order by score, metric desc, round_id
        ) as rank_in_case

    from round_scores

),

ranked as (

    select
        in_case.*,
        row_number() over (
            partition by in_case.task_id, in_case.dimension_id
            order by
                in_case.score,
                case when dimensions.is_share then in_case.rank_in_case end,
                case when dimensions.scoring_mode = 'higher_better' then in_case.metric
                    else -in_case.metric
                end,
                in_case.rank_in_case,
                in_case.case_id,
                in_case.round_id
        ) as evidence_rank

    from in_case
    inner join dimensions
        on
            in_case.task_id = dimensions.task_id
            and in_case.dimension_id = dimensions.dimension_id

),

picked as (

    select
        ranked.task_id,
        ranked.dimension_id,
        ranked.case_id,
        ranked.round_id,
        ranked.evidence_rank,
        ranked.metric,
        ranked.score,
        ranked.reason,
        metrics.expected,
        metrics.actual,
        metrics.detail

    from ranked
    left join metrics
        on
            ranked.task_id = metrics.task_id
            and ranked.case_id = metrics.case_id
            and ranked.round_id = metrics.round_id
            and ranked.dimension_id = metrics.dimension_id
    where ranked.evidence_rank <= 10

)

select * from picked

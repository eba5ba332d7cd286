-- One row per task, dimension and rank: the at most ten worst rounds of the dimension, ties spread over cases.
with

case_scores as (
    select * from {{ ref('promptlab', 'int_case_scores') }}
    where {{ in_this_build() }} and lowest_score is not null
),
round_scores as (select * from {{ ref('promptlab', 'int_round_scores') }} where score is not null),
dimensions as (select * from {{ ref('promptlab', 'int_dimensions_resolved') }}),

ranked_cases as (

    select
        case_scores.task_id,
        case_scores.dimension_id,
        case_scores.case_id,
        dimensions.scoring_mode,
        row_number() over (
            partition by case_scores.task_id, case_scores.dimension_id
            order by
                case_scores.lowest_score,
                case dimensions.scoring_mode
                    when 'higher_better' then case_scores.lowest_metric
                    when 'lower_better' then -case_scores.highest_metric
                end nulls last,
                case_scores.case_id
        ) as case_rank

    from case_scores
    inner join dimensions using (task_id, dimension_id)

),

measured as (

    select
        round_scores.*,
        -- equal scores may still differ in what was measured
        case ranked_cases.scoring_mode
            when 'higher_better' then round_scores.metric
            when 'lower_better' then -round_scores.metric
        end as goodness

    from ranked_cases
    inner join round_scores using (task_id, dimension_id, case_id)
    where ranked_cases.case_rank <= 10

),

in_case as (

    select
        *,
        row_number() over (
            partition by task_id, dimension_id, case_id
            order by score, goodness nulls last, round_id
        ) as rank_in_case

    from measured

),

ranked as (

    select
        *,
        row_number() over (
            partition by task_id, dimension_id
            order by score, goodness nulls last, rank_in_case, case_id, round_id
        ) as evidence_rank

    from in_case

),

picked as (

    select
        task_id,
        dimension_id,
        case_id,
        round_id,
        evidence_rank,
        metric,
        score,
        reason,
        expected,
        actual,
        detail

    from ranked
    where evidence_rank <= 10

)

select * from picked

{{ config(materialized=view_of_step()) }}

-- One row per round, dimension and who scored it (a judge, a scorer, an outside score; not the verdict on the whole
-- round): its score, and the verdict by `pass_score`, else by the tool's assertion, else by 0 or 1.
with

rounds as (select * from {{ ref('promptlab', 'int_round_results') }}),
round_scores as (select * from {{ ref('promptlab', 'int_round_scores') }}),
asserted as (select * from {{ ref('promptlab', 'int_asserted_verdicts') }}),
dimensions as (select * from {{ ref('promptlab', 'int_dimensions_resolved') }}),
scorers as (select * from {{ ref('promptlab', 'int_scores_by_judge') }}),
tasks as (select * from {{ ref('promptlab', 'stg_tasks__tasks') }} where {{ in_this_build() }}),
named as (select * from {{ ref('promptlab', 'int_judges_named') }}),

used as (

    select
        round_scores.task_id,
        round_scores.case_id,
        round_scores.round_id,
        round_scores.dimension_id,
        coalesce(
            scorers.judge,
            {{ named_judge('named', 'round_scores.scorer') }},
            cast(tasks.judge as string),
            round_scores.scorer
        ) as judge,
        asserted.task_id is not null as is_asserted,
        asserted.verdict as asserted_verdict,
        round_scores.score,
        scorers.answer_position,
        true as is_used

    from round_scores
    inner join dimensions using (task_id, dimension_id)
    inner join tasks using (task_id)
    left join scorers
        on
            round_scores.task_id = scorers.task_id
            and round_scores.case_id = scorers.case_id
            and round_scores.round_id = scorers.round_id
            and round_scores.dimension_id = scorers.dimension_id
            and scorers.is_used
    left join named
        on
            round_scores.task_id = named.task_id
            and round_scores.dimension_id = named.judged_name
    -- the score of a scorer from outside is not what the tool asserted
    left join asserted
        on
            round_scores.task_id = asserted.task_id
            and round_scores.case_id = asserted.case_id
            and round_scores.round_id = asserted.round_id
            and round_scores.dimension_id = asserted.check_name
            and scorers.judge is null
    -- milliseconds, tokens or characters alone do not say whether an answer is good
    where
        dimensions.is_share
        or dimensions.pass_score is not null
        or asserted.task_id is not null

),

-- scores of which another scorer's counts; a name that has its own used row is not listed twice
not_used as (

    select
        scorers.task_id,
        scorers.case_id,
        scorers.round_id,
        scorers.dimension_id,
        scorers.judge,
        false as is_asserted,
        cast(null as string) as asserted_verdict,
        scorers.score,
        scorers.answer_position,
        false as is_used

    from scorers
    inner join rounds using (task_id, case_id, round_id)
    left join used
        on
            scorers.task_id = used.task_id
            and scorers.case_id = used.case_id
            and scorers.round_id = used.round_id
            and scorers.dimension_id = used.dimension_id
            and scorers.judge = used.judge
    where not scorers.is_used and used.task_id is null

),

of_dimensions as (

    select * from used
    where dimension_id <> 'verdict'

    union all

    select * from not_used
    where dimension_id <> 'verdict'

),

-- 0 and 1 are verdicts where a judge gave nothing else: among grades they are grades
graded as (

    select distinct
        task_id,
        dimension_id,
        judge

    from of_dimensions
    where score not in (0, 1)

),

final as (

    select
        of_dimensions.task_id,
        of_dimensions.case_id,
        of_dimensions.round_id,
        of_dimensions.dimension_id,
        of_dimensions.judge,
        case
            when dimensions.pass_score is not null
                then case
                    when of_dimensions.score >= dimensions.pass_score then 'pass'
                    when of_dimensions.score < dimensions.pass_score then 'fail'
                end
            when of_dimensions.is_asserted then of_dimensions.asserted_verdict
            when graded.task_id is not null then null
            when of_dimensions.score = 1 then 'pass'
            when of_dimensions.score = 0 then 'fail'
        end as verdict,
        of_dimensions.answer_position,
        of_dimensions.score,
        of_dimensions.is_used

    from of_dimensions
    left join dimensions using (task_id, dimension_id)
    left join graded
        on
            of_dimensions.task_id = graded.task_id
            and of_dimensions.dimension_id = graded.dimension_id
            and of_dimensions.judge = graded.judge

)

select * from final

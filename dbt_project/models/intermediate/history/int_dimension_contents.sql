{{ config(materialized='incremental', unique_key='task_id', meta={'batch': 'tasks'}) }}

-- One row per task and dimension: what has to be equal in two tasks before their scores on it are
-- compared, and what of it makes grades and verdicts (`grading_text`), if it does (`is_deciding`).
with

dimensions as (select * from {{ ref('promptlab', 'int_dimensions_resolved') }}),
scores as (select * from {{ ref('promptlab', 'int_scores_chosen') }}),

judged_rounds as (

    select distinct
        scores.task_id,
        scores.dimension_id,
        scores.case_id || ' ' || scores.round_id as round_id,
        scores.scored_by || coalesce(' ' || scores.scored_by_version, '') as judge

    from scores
    inner join dimensions using (task_id, dimension_id)
    where dimensions.is_judged

),

judges as (

    select
        task_id,
        dimension_id,
        judge,
        md5(string_agg(round_id, ', ' order by round_id)) as rounds_hash

    from judged_rounds
    group by task_id, dimension_id, judge

),

-- of several judges it matters which of them judged which round
judges_joined as (

    select
        task_id,
        dimension_id,
        case
            when count(*) = 1 then min(judge)
            else string_agg(judge || ' ' || rounds_hash, ', ' order by judge)
        end as judges

    from judges
    group by task_id, dimension_id

),

described as (

    select

        ---------- ids
        dimensions.task_id,
        dimensions.dimension_id,

        ---------- strings
        dimensions.name,
        dimensions.scorer,
        dimensions.scoring_mode,
        judges_joined.judges,
        {{ canonical_json('dimensions.parameters') }} as parameters_text,
        -- the limits of a share only raise alerts, those of a number make its score
        concat_ws(
            ' ',
            coalesce(parameters_text, '-'),
            coalesce(cast(dimensions.weight_configured as string), '-'),
            case
                when not dimensions.is_share
                    then concat_ws(
                        '..',
                        coalesce(cast(dimensions.lower_limit as string), ''),
                        cast(dimensions.upper_limit as string)
                    )
            end
        ) as grading_text,

        ---------- numerics
        dimensions.dimension_position,
        dimensions.weight_configured,
        dimensions.lower_limit,
        dimensions.upper_limit,

        ---------- booleans
        dimensions.is_share,
        -- what neither weighs nor passes or fails may change
        dimensions.weight_configured > 0 or dimensions.has_verdict as is_deciding

    from dimensions
    left join judges_joined using (task_id, dimension_id)

)

select * from described

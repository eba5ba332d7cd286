-- One row per round and dimension: `metric` is what the scorer measured, `score` what that is worth from 0 to 1;
-- `reason` is why there is no score, or `error_round` where an error scores 0.
with

round_scores as (select * from {{ ref('promptlab', 'int_round_scores') }}),

final as (

    select

        ---------- ids
        task_id,
        case_id,
        round_id,
        dimension_id,

        ---------- strings
        scorer,
        case when score is null then 'unscored' else 'scored' end as status,
        reason,

        ---------- numerics
        metric,
        score

    from round_scores

)

select * from final

with

strata as (select * from {{ ref('int_test_strata') }}),
evidence as (select * from {{ ref('int_test_evidence') }}),

summed as (

    select
        strata.task_id,
        strata.treatment,
        evidence.statistic,
        cast(sum(strata.n_cases * evidence.points) as bigint) as observed,
        cast(round(sum(strata.n_cases * evidence.mean_points)) as bigint) as mean_points,
        sqrt(sum(
            strata.n_cases
            * (evidence.mean_square - evidence.mean_points * evidence.mean_points)
        )) as sd_points,
        cast(sum(strata.n_cases * evidence.least_points) as bigint) as least_points,
        cast(sum(strata.n_cases * evidence.most_points) as bigint) as most_points

    from strata
    inner join evidence
        on
            strata.n = evidence.n
            and strata.s = evidence.s
            and strata.k = evidence.k
            and strata.x = evidence.v
    group by strata.task_id, strata.treatment, evidence.statistic

),

-- A sum that can take more values than the window has places is looked at from 8 standard
-- deviations below its mean on; what lies outside is less than 1e-13.
sized as (

    select
        *,
        case
            when most_points - least_points < 64 then 64
            when most_points - least_points < 512 then 512
            when most_points - least_points < 4096 or sd_points <= 256 then 4096
            else 32768
        end as window_length

    from summed

),

placed as (

    select
        *,
        case
            when most_points - least_points < window_length then least_points
            else mean_points - cast(window_length / 2 as bigint)
        end as window_start

    from sized

)

select * from placed

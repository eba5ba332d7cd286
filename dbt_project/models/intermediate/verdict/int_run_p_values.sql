with

tests as (select * from {{ ref('promptlab', 'int_run_tests') }}),
p_values as (select * from {{ ref('promptlab', 'int_verdict_p_values') }}),

-- where every round of every case is alike nothing speaks against the variant
own as (

    select
        tests.*,
        coalesce(p_values.p, 1e0) as p

    from tests
    left join p_values
        on tests.task_id = p_values.task_id and p_values.treatment = 'errors_left_out'

),

-- each variant by itself: Simes, by the steps of Benjamini and Hochberg
stepped as (

    select
        *,
        row_number() over (partition by test_id order by p, task_id) as place,
        p * n_variants / place as p_stepped

    from own

),

adjusted as (

    select
        *,
        min(p_stepped) over (
            partition by test_id order by p asc, task_id asc
            rows between current row and unbounded following
        ) as p_adjusted,
        min(p_stepped) over (partition by test_id) as p_simes

    from stepped

),

pooled as (

    select
        adjusted.*,
        coalesce(p_values.p, 1e0) as p_pooled

    from adjusted
    left join p_values
        on adjusted.test_id = p_values.task_id and adjusted.treatment = p_values.treatment

),

-- A variant alone has one test. Where all variants together say more than each alone, the run's
-- p-value is that of its worst variant; another one is named if it fails by itself, too.
combined as (

    select
        *,
        case
            when n_variants = 1 then p
            else least(1e0, 2 * least(p_simes, p_pooled))
        end as p_run,
        case
            when p_pooled >= p_simes then least(1e0, 2 * p_adjusted)
            when place = 1 then least(1e0, 2 * p_pooled)
            else least(1e0, 2 * least(p_adjusted, greatest(p, p_pooled)))
        end as p_in_run

    from pooled

),

-- the unchanged variants alarm: that is not the doing of a prompt
controls as (

    select distinct
        tests.test_id,
        combined.p_run

    from combined
    inner join tests as of_run
        on combined.task_id = of_run.task_id and of_run.treatment = 'all_variants'
    inner join tests on of_run.test_id = tests.test_id
    where combined.treatment = 'unchanged_variants'

),

run_p_values as (

    select

        ---------- ids
        combined.task_id,

        ---------- numerics
        combined.n_variants,
        {{ rounded('combined.p_run', 9) }} as p_run,
        {{ rounded('combined.p_in_run', 9) }} as p_in_run,
        {{ rounded('controls.p_run', 9) }} as p_unchanged

    from combined
    left join controls using (test_id)
    where combined.treatment = 'all_variants'

)

select * from run_p_values

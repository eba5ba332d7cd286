{{ config(unique_key='task_id', meta={'batch': 'comparisons', 'mentions': ['since_task_id']}) }}

with

variants as (
    select * from {{ ref('promptlab', 'int_task_variants') }}
    where recheck_of is null and {{ in_this_build('comparisons', 'task_id') }}
),
all_variants as (select * from {{ ref('promptlab', 'int_task_variants') }} where recheck_of is null),
comparability as (select * from {{ ref('promptlab', 'int_case_comparability') }}),
run_odds as (select * from {{ ref('promptlab', 'int_run_odds') }}),
cases as (select * from {{ ref('promptlab', 'int_odds_cases') }}),
cells as (select * from {{ ref('promptlab', 'int_odds_cells') }}),
histories as (select * from {{ ref('promptlab', 'int_run_histories') }}),
rechecks as (select * from {{ ref('promptlab', 'int_rechecks') }}),
case_rounds as (select * from {{ ref('promptlab', 'int_case_rounds') }}),
policy as (select * from {{ ref('promptlab', 'promptlab_verdict_policy') }}),

-- of the history that gives the run its odds
chosen as (

    select cases.*
    from cases
    inner join run_odds using (title, run_id, history)

),

sums as (

    select
        chosen.task_id,
        chosen.case_id,
        sum(case when cells.place = 0 then cells.x else 0 end) as n_passed_now,
        sum(case when cells.place = 0 then cells.n else 0 end) as n_rounds_now,
        sum(case when cells.place > 0 then cells.x else 0 end) as n_passed_before,
        sum(case when cells.place > 0 then cells.n else 0 end) as n_rounds_before,
        sum(case when cells.place > 0 then 1 else 0 end) as n_runs_before,
        sum(case when cells.place < chosen.n_broken_runs then cells.x else 0 end) as n_passed_since,
        sum(case when cells.place < chosen.n_broken_runs then cells.n else 0 end) as n_rounds_since

    from chosen
    inner join cells using (series_id, case_id)
    group by chosen.task_id, chosen.case_id

),

rechecked as (

    select
        rechecks.task_id,
        case_rounds.case_id,
        sum(case_rounds.n_rounds) as n_rounds

    from rechecks
    inner join case_rounds on rechecks.recheck_task_id = case_rounds.task_id
    group by rechecks.task_id, case_rounds.case_id

),

-- the run in which it began, and the task of the variant there
began as (

    select
        chosen.task_id,
        chosen.case_id,
        histories.counted_run_id as since_run_id,
        all_variants.task_id as since_task_id,
        all_variants.created_at as since_at

    from chosen
    inner join variants using (task_id)
    inner join histories
        on
            chosen.title = histories.title
            and chosen.run_id = histories.run_id
            and chosen.history = histories.history
            and chosen.n_broken_runs = histories.place + 1
    left join all_variants
        on
            chosen.title = all_variants.title
            and histories.counted_run_id = all_variants.run_id
            and variants.variant = all_variants.variant

),

described as (

    select
        comparability.*,
        sums.n_passed_now,
        sums.n_rounds_now,
        sums.n_passed_before,
        sums.n_rounds_before,
        sums.n_runs_before,
        sums.n_passed_since,
        sums.n_rounds_since,
        rechecked.n_rounds as n_rounds_recheck,
        began.since_run_id,
        began.since_task_id,
        began.since_at,
        chosen.log_evidence,
        chosen.log_evidence_together,
        case when sums.n_rounds_before > 0 then chosen.odds_in_one + chosen.odds_in_all end as odds,
        coalesce(chosen.is_known_flaky, false) as is_known_flaky,
        run_odds.odds as odds_of_run,
        -- fails, and less likely so if nothing had changed
        coalesce(
            not comparability.is_gap
            and sums.n_passed_now < sums.n_rounds_now
            and sums.n_passed_now * sums.n_rounds_before < sums.n_passed_before * sums.n_rounds_now
            and greatest(chosen.log_evidence, chosen.log_evidence_together) > 0,
            false
        ) as is_newly_failing,
        coalesce(
            not comparability.is_gap
            and sums.n_passed_now = sums.n_rounds_now
            and comparability.n_passed_last < comparability.n_rounds_last,
            false
        ) as is_newly_passing

    from comparability
    inner join variants using (task_id)
    inner join run_odds using (title, run_id)
    left join chosen using (task_id, case_id)
    left join sums using (task_id, case_id)
    left join rechecked using (task_id, case_id)
    left join began using (task_id, case_id)

),

final as (

    select

        ---------- ids
        task_id,
        case_id,
        case when is_newly_failing then since_run_id end as since_run_id,
        case when is_newly_failing then since_task_id end as since_task_id,

        ---------- strings
        case
            when is_gap or coalesce(n_rounds_now, 0) = 0 then 'not_compared'
            when
                is_newly_failing
                and odds >= 1
                and odds_of_run >= policy.refuse_odds
                and not is_known_flaky
                then 'broken'
            when is_newly_failing then 'watched'
            when n_passed_now < n_rounds_now then 'failing'
            else 'passing'
        end as state,
        case
            when is_gap or coalesce(n_rounds_now, 0) = 0 then why
            when coalesce(n_rounds_before, 0) = 0 then 'new'
        end as why,

        ---------- numerics
        cast(coalesce(n_passed_now, 0) as bigint) as n_passed_now,
        cast(coalesce(n_rounds_now, 0) as bigint) as n_rounds_now,
        n_errors as n_errors_now,
        cast(coalesce(n_rounds_recheck, 0) as bigint) as n_rounds_recheck,
        n_passed_last,
        n_rounds_last,
        cast(coalesce(n_passed_before, 0) as bigint) as n_passed_before,
        cast(coalesce(n_rounds_before, 0) as bigint) as n_rounds_before,
        coalesce(n_runs_before, 0) as n_runs_before,
        cast(case when is_newly_failing then n_passed_since end as bigint) as n_passed_since,
        cast(case when is_newly_failing then n_rounds_since end as bigint) as n_rounds_since,
        cast(case when is_newly_failing then n_passed_now + n_passed_before - n_passed_since end as bigint)
            as n_passed_until,
        cast(case when is_newly_failing then n_rounds_now + n_rounds_before - n_rounds_since end as bigint)
            as n_rounds_until,
        log_evidence,
        {{ rounded('odds', 9) }} as odds,

        ---------- booleans
        is_newly_failing,
        is_newly_passing,
        is_known_flaky,
        is_gap,

        ---------- timestamps
        case when is_newly_failing then since_at end as since_at

    from described
    cross join policy

)

select * from final

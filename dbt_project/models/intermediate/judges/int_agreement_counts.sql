{{ config(materialized='view') }}

-- One row per dimension, judge and slice (all, a title, a model, a tag and others): counts and weighted
-- sums of labels of people against verdicts of the judge, which fct_judge_agreement turns into rates.
with

answers as (select * from {{ ref('promptlab', 'int_labelled_answers') }}),
tags as (select * from {{ ref('promptlab', 'dim_case_tags') }}),

kinds as (

    select listed.slice_kind
    from (
        values ('all'), ('title'), ('model'), ('month'), ('length'), ('family'), ('position')
    ) as listed (slice_kind)

),

sliced as (

    select
        answers.*,
        kinds.slice_kind,
        case kinds.slice_kind
            when 'all' then 'all'
            when 'title' then answers.title
            when 'model' then answers.model
            when 'month' then answers.month_of_run
            when 'family' then answers.family
            when 'position' then answers.place
            else case answers.length_third
                when 1 then 'short'
                when 2 then 'medium'
                else 'long'
            end
        end as slice

    from answers
    cross join kinds

    union all

    select
        answers.*,
        'tag' as slice_kind,
        tags.tag as slice

    from answers
    inner join tags using (task_id, case_id)

),

-- An answer that rounds repeat was judged by people once: it counts by the round with most
-- labels, the newest of these. The weight of an answer that both judged, or graded, else null.
counted_once as (

    select
        *,
        case when truth is not null and verdict is not null then weight end as w,
        case when grade is not null and score is not null then weight end as g_weight

    from sliced
    where slice is not null
    qualify rank() over (
        partition by dimension_id, judge, slice_kind, slice, cluster_id, answer_id
        order by n_labels desc, created_at desc, task_id asc, case_id asc, round_id asc
    ) = 1

),

-- of one case, with the share of all that agrees
clusters as (

    select
        dimension_id,
        judge,
        slice_kind,
        slice,
        sum(w) as weight,
        coalesce(sum(w) filter (where truth = verdict), 0) as agreed,
        sum(sum(w) filter (where truth = verdict)) over in_slice
        / sum(sum(w)) over in_slice as agreement

    from counted_once
    where w is not null
    group by dimension_id, judge, slice_kind, slice, cluster_id
    window in_slice as (partition by dimension_id, judge, slice_kind, slice)

),

cluster_sums as (

    select
        dimension_id,
        judge,
        slice_kind,
        slice,
        count(*) as n_cases,
        sum(power(agreed - weight * agreement, 2)) as residual_squares

    from clusters
    group by all

),

sums as (

    select
        dimension_id,
        judge,
        slice_kind,
        slice,
        count(*) as n_rounds,
        count(w) as n_judged,
        count(*) filter (where truth is not null and verdict is null) as n_unjudged,
        count(*) filter (where is_disputed) as n_disputed,
        count(*) filter (where w is not null and truth = 'pass') as n_pass,
        count(*) filter (where w is not null and truth = 'fail') as n_fail,
        count(*) filter (where truth = 'pass' and verdict = 'pass') as n_both_pass,
        count(*) filter (where truth = 'pass' and verdict = 'fail') as n_only_judge_fails,
        count(*) filter (where truth = 'fail' and verdict = 'pass') as n_only_judge_passes,
        count(*) filter (where truth = 'fail' and verdict = 'fail') as n_both_fail,
        sum(w) as w_all,
        sum(power(w, 2)) as w_squares,
        coalesce(sum(w) filter (where truth = 'pass' and verdict = 'pass'), 0) as w_both_pass,
        coalesce(sum(w) filter (where truth = 'pass' and verdict = 'fail'), 0)
            as w_only_judge_fails,
        coalesce(sum(w) filter (where truth = 'fail' and verdict = 'pass'), 0)
            as w_only_judge_passes,
        coalesce(sum(w) filter (where truth = 'fail' and verdict = 'fail'), 0) as w_both_fail,
        sum(power(w, 2)) filter (where verdict = 'pass')
        / sum(w) filter (where verdict = 'pass') as weight_if_passed,
        sum(power(w, 2)) filter (where verdict = 'fail')
        / sum(w) filter (where verdict = 'fail') as weight_if_failed,
        count(*) filter (where n_labels > 1) as n_labelled_twice,
        count(*) filter (
            where n_labels > 1 and (n_pass = n_labels or n_fail = n_labels)
        ) as n_people_agree,
        sum(n_marks) filter (where n_marks > 1) as people_n,
        sum(mark_sum) filter (where n_marks > 1) as people_sum,
        sum(mark_squares) filter (where n_marks > 1) as people_squares,
        -- squared differences within an answer, each pair twice
        sum(2 * (n_marks * mark_squares - power(mark_sum, 2)) / (n_marks - 1e0))
        filter (where n_marks > 1) as people_differences,
        count(g_weight) as n_graded,
        sum(g_weight) as g_n,
        sum(g_weight * score) as g_score,
        sum(g_weight * grade) as g_grade,
        sum(g_weight * score * score) as g_score_2,
        sum(g_weight * grade * grade) as g_grade_2,
        sum(g_weight * score * grade) as g_both,
        sum(g_weight * abs(score - grade)) as g_absolute

    from counted_once
    group by all

),

final as (

    select
        sums.*,
        coalesce(cluster_sums.n_cases, 0) as n_cases,
        cluster_sums.residual_squares

    from sums
    left join cluster_sums using (dimension_id, judge, slice_kind, slice)

)

select * from final

-- One row per case of a task and golden answer: any one of them is right.
with

baselines as (
    select * from {{ ref('promptlab', 'stg_tasks__baselines') }}
    where {{ in_this_build() }} and baseline_type = 'golden_answer'
),

payloads as (

    select
        task_id,
        case_id,
        baseline_position,
        patterns,
        coalesce(
            nullif(json_extract(payload, '$.text'), 'null'),
            nullif(json_extract(payload, '$.answer'), 'null'),
            nullif(json_extract(payload, '$.output'), 'null')
        ) as answer

    from baselines

),

alternatives as (

    select
        task_id,
        case_id,
        baseline_position,
        patterns,
        unnest(
            case when {{ json_kind('answer') }} = 'array' then json_extract(answer, '$[*]') else [answer] end
        ) as answer

    from payloads

),

golden_answers as (

    select
        task_id,
        case_id,
        row_number() over (
            partition by task_id, case_id
            order by baseline_position, cast(answer as string) nulls last
        ) as golden_no,
        {{ json_as_text('answer') }} as golden_answer,
        patterns

    from alternatives

)

select * from golden_answers
where golden_answer is not null

{{ config(materialized='table', unique_key='task_id', meta={'batch': 'tasks'}) }}

-- One row per question in the last round of a memory run's conversation: a case of the run, with its only answer.
-- A table, since all that reads cases and rounds reads it.

with

answers as (select * from {{ ref('promptlab', 'stg_memory__answers') }}),
tests as (select * from {{ ref('promptlab', 'stg_memory__tests') }} where n_answers > 0),
runs as (select * from {{ ref('promptlab', 'stg_memory__runs') }}),
categories as (select * from {{ ref('promptlab', 'promptlab_memory_categories') }}),

last_tests as (

    select
        run_id,
        task_id,
        max(test_index) as test_index

    from tests
    group by run_id, task_id

),

labelled as (

    select
        answers.*,
        coalesce(categories.category_name, answers.category) as category_tag,
        category_groups.category_name as group_tag

    from answers
    inner join last_tests using (run_id, task_id, test_index)
    inner join runs using (run_id, task_id)
    left join categories using (dataset, category)
    left join categories as category_groups
        on
            categories.dataset = category_groups.dataset
            and categories.category_group = category_groups.category

),

questions as (

    select

        ---------- ids
        load_id,
        run_id as task_id,
        case_id,

        ---------- strings
        task_id as conversation,
        predicted_answer,
        -- a failed call is an error of its round, whatever its message
        case when is_failed then coalesce(nullif(trim(error), ''), 'error_answer') end as error,

        ---------- numerics
        question_position,

        ---------- booleans
        has_reference,

        ---------- json
        case
            when evidence is null then json_object('question', question_text)
            else json_object('question', question_text, 'evidence', cast(evidence as json))
        end as context,
        json_object('answer', cast(reference_answer as json)) as reference,
        cast(
            '['
            || concat_ws(',', cast(to_json(category_tag) as string), cast(to_json(group_tag) as string))
            || ']' as json
        ) as tags

    from labelled

)

select * from questions

-- Every comparison with its sentence, in both languages.
with

judged as (select * from {{ ref('int_comparisons_judged') }}),
verdicts as (select * from {{ ref('comparison_verdicts') }}),
reasons as (select * from {{ ref('comparison_reasons') }}),

worded as (

    select
        judged.*,
        {{ comparison_sentence('zh') }} as conclusion,
        {{ comparison_sentence('en') }} as conclusion_en

    from judged
    inner join verdicts using (verdict)
    left join reasons using (reason)

)

select * from worded

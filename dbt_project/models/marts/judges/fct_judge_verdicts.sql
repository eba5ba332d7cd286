with

rounds as (select * from {{ ref('int_round_results') }}),
round_scores as (select * from {{ ref('int_round_scores') }}),
checks as (select * from {{ ref('int_reported_checks') }} where {{ in_this_build() }}),
dimensions as (
    select * from {{ ref('stg_tasks__dimension_configs') }} where {{ in_this_build() }}
),
asked as (select * from {{ ref('int_dimensions_resolved') }}),
given_scores as (select * from {{ ref('stg_scores__scores') }} where {{ in_this_build() }}),
chosen as (select * from {{ ref('int_scores_chosen') }}),
tasks as (select * from {{ ref('stg_tasks__tasks') }} where {{ in_this_build() }}),
reported_judges as (
    select * from {{ ref('stg_reported__judges') }} where {{ in_this_build() }}
),

configured as (

    select
        task_id,
        dimension_id,
        {{ json_number('parameters', 'pass_score') }} as pass_score,
        {{ canonical_json('parameters') }} as parameters_text,
        {{ json_text('parameters', 'judge') }} is not null as has_judge

    from dimensions

),

-- all that the file of a tool says of who judged; settings of a judge are parameters
said as (

    select
        task_id,
        judged_name,
        judge_model,
        concat_ws(chr(10), 'template ' || template, 'rubric ' || rubric) as told

    from reported_judges

    union all

    select
        configured.task_id,
        configured.dimension_id as judged_name,
        cast(null as string) as judge_model,
        configured.parameters_text as told

    from configured
    left join reported_judges
        on
            configured.task_id = reported_judges.task_id
            and configured.dimension_id = reported_judges.judged_name
    where
        configured.parameters_text <> '{"scorer":"reported"}'
        and (configured.has_judge or reported_judges.task_id is not null)

),

-- all judges of a task make its verdicts; the mapping of a table says which column does
said_of_verdicts as (

    select
        said.task_id,
        'verdict' as judged_name,
        said.judge_model,
        said.told

    from said
    inner join tasks using (task_id)
    where coalesce(tasks.source_kind <> 'table', true)

    union all

    select
        tasks.task_id,
        'verdict' as judged_name,
        cast(null as string) as judge_model,
        cast(tasks.judge as string) as told

    from tasks
    where
        tasks.judge is not null
        and tasks.task_id in (select reported_judges.task_id from reported_judges)

    union all

    select * from said

),

-- several models that judged one dimension are one judge together
named as (

    select
        task_id,
        judged_name,
        {{ joined('judge_model', "', '", 'judge_model', distinct=true) }} as models,
        left(md5({{ joined("nullif(told, '')", 'chr(10)', "nullif(told, '')", distinct=true) }}), 8)
            as version

    from said_of_verdicts
    group by task_id, judged_name

),

-- the newest score of each scorer, given to a dimension or to the scorer that it names
given as (

    select
        given_scores.task_id,
        given_scores.case_id,
        given_scores.round_id,
        coalesce(asked.dimension_id, given_scores.dimension_id) as dimension_id,
        given_scores.scorer,
        given_scores.scorer_version,
        given_scores.payload,
        given_scores.score / given_scores.scale as score,
        row_number() over (
            partition by
                given_scores.task_id, given_scores.case_id, given_scores.round_id,
                coalesce(asked.dimension_id, given_scores.dimension_id),
                concat_ws(' ', given_scores.scorer, given_scores.scorer_version)
            order by
                case when asked.dimension_id is null then 1 else 0 end,
                given_scores.load_id desc,
                given_scores.line_number desc
        ) as recency

    from given_scores
    left join asked
        on
            given_scores.task_id = asked.task_id
            and given_scores.dimension_id = asked.scores_from

),

scorers as (

    select
        given.task_id,
        given.case_id,
        given.round_id,
        given.dimension_id,
        concat_ws(' ', given.scorer, given.scorer_version) as judge,
        {{ json_text('given.payload', 'position') }} as place,
        given.score,
        chosen.task_id is not null as is_used

    from given
    left join chosen
        on
            given.task_id = chosen.task_id
            and given.case_id = chosen.case_id
            and given.round_id = chosen.round_id
            and given.dimension_id = chosen.dimension_id
            and given.scorer = chosen.given_by
            and given.scorer_version is not distinct from chosen.given_by_version
    where given.recency = 1

),

-- all assertions of one name have to pass
asserted as (

    select
        task_id,
        case_id,
        round_id,
        check_name as dimension_id,
        max(check_type) as check_type,
        case
            when bool_or(status = 'fail') then 'fail'
            when bool_and(status = 'pass') then 'pass'
        end as verdict,
        min(score) as score

    from checks
    where check_name <> 'verdict'
    group by task_id, case_id, round_id, check_name

),

of_dimensions as (

    select
        round_scores.task_id,
        round_scores.case_id,
        round_scores.round_id,
        round_scores.dimension_id,
        coalesce(
            scorers.judge,
            case
                when named.task_id is not null
                    then concat_ws(
                        ' ', coalesce(named.models, round_scores.scorer), named.version
                    )
            end,
            cast(tasks.judge as string),
            round_scores.scorer
        ) as judge,
        asserted.task_id is not null as is_asserted,
        asserted.verdict as asserted_verdict,
        round_scores.score,
        scorers.place,
        true as is_used

    from round_scores
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
            and round_scores.dimension_id = asserted.dimension_id
            and scorers.judge is null

    union all

    select
        scorers.task_id,
        scorers.case_id,
        scorers.round_id,
        scorers.dimension_id,
        scorers.judge,
        false as is_asserted,
        cast(null as string) as asserted_verdict,
        scorers.score,
        scorers.place,
        false as is_used

    from scorers
    inner join rounds using (task_id, case_id, round_id)
    where not scorers.is_used

),

-- 0 and 1 are verdicts where a judge gave nothing else: among grades they are grades
scales as (

    select
        *,
        min(case when score is null or score in (0, 1) then 1 else 0 end) over (
            partition by task_id, dimension_id, judge
        ) = 1 as is_binary

    from of_dimensions
    where dimension_id <> 'verdict'

),

judged_dimensions as (

    select
        scales.task_id,
        scales.case_id,
        scales.round_id,
        scales.dimension_id,
        scales.judge,
        case
            when configured.pass_score is not null
                then case
                    when scales.score >= configured.pass_score then 'pass'
                    when scales.score < configured.pass_score then 'fail'
                end
            when scales.is_asserted then scales.asserted_verdict
            when scales.is_binary and scales.score = 1 then 'pass'
            when scales.is_binary and scales.score = 0 then 'fail'
        end as verdict,
        scales.place,
        scales.score,
        scales.is_used

    from scales
    left join configured using (task_id, dimension_id)

),

-- an assertion counts under its name where no dimension is called so; its judge is that of
-- its name, else that of all assertions of its type
of_assertions as (

    select
        asserted.task_id,
        asserted.case_id,
        asserted.round_id,
        asserted.dimension_id,
        coalesce(
            case
                when named.task_id is not null
                    then concat_ws(' ', coalesce(named.models, asserted.check_type), named.version)
                when of_types.task_id is not null
                    then concat_ws(
                        ' ', coalesce(of_types.models, asserted.check_type), of_types.version
                    )
            end,
            cast(tasks.judge as string),
            asserted.check_type
        ) as judge,
        asserted.verdict,
        cast(null as string) as place,
        asserted.score,
        true as is_used

    from asserted
    inner join tasks using (task_id)
    left join named
        on asserted.task_id = named.task_id and asserted.dimension_id = named.judged_name
    left join named as of_types
        on asserted.task_id = of_types.task_id and asserted.check_type = of_types.judged_name
    left join round_scores
        on
            asserted.task_id = round_scores.task_id
            and asserted.case_id = round_scores.case_id
            and asserted.round_id = round_scores.round_id
            and asserted.dimension_id = round_scores.dimension_id
    where round_scores.task_id is null

),

of_rounds as (

    select
        rounds.task_id,
        rounds.case_id,
        rounds.round_id,
        'verdict' as dimension_id,
        coalesce(
            case
                when named.task_id is not null
                    then concat_ws(' ', coalesce(named.models, 'verdict'), named.version)
            end,
            cast(tasks.judge as string),
            'verdict'
        ) as judge,
        case when rounds.status in ('pass', 'fail') then rounds.status end as verdict,
        cast(null as string) as place,
        cast(null as double) as score,
        true as is_used

    from rounds
    inner join tasks using (task_id)
    left join named on rounds.task_id = named.task_id and named.judged_name = 'verdict'

),

verdicts as (

    select * from of_rounds

    union all

    select * from judged_dimensions

    union all

    select * from of_assertions

),

-- a file of scores may call its scorer as the file of the tool calls its judge
ranked as (

    select
        *,
        row_number() over (
            partition by task_id, case_id, round_id, dimension_id, judge
            order by case when is_used then 0 else 1 end
        ) as place_of_judge

    from verdicts

),

first_of_judges as (

    select
        task_id,
        case_id,
        round_id,
        dimension_id,
        judge,
        verdict,
        place,
        score,
        is_used

    from ranked
    where place_of_judge = 1

)

select * from first_of_judges

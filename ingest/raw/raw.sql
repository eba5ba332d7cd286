-- The raw layer: what the files say, flattened, nothing computed.
--
-- This file is the only definition of these tables. Every row carries the load
-- that wrote it and its place in that load's file (`line`, or `position` counted
-- from 0 in the file's order). Times are UTC. JSON is kept as JSON text next to the
-- flattened columns. Loading only adds rows. What of them counts, where an object was
-- loaded several times, is in the views of the schema `live`, one for each table here.
-- A purge deletes rows, and so does `promptlab purge --compact`.
--
-- Columns of many tables, where a table says nothing else of them:
--
--   load_id: Load that wrote the row
--   file_uri: Absolute path of the file
--   line: Line of the file, from 1
--   position: Place in the file, from 0
--   testset_id: Path of the testset below the ingested folder, without suffix
--   case_id: The case, unique in its task or testset
--   task_id: The task; unique over the whole warehouse
--   pipeline_id: The pipeline
--   step_id: Id of the step
--   run_id: Run of the memory benchmark
--   extras: What the file has beyond the format, kept as it came

create schema if not exists raw;

-- One version of the raw layer.
create table if not exists raw.schema_versions (
    version integer not null,           -- Version of the raw layer
    applied_at timestamptz not null,    -- When the warehouse took it on, UTC
    ingest_version varchar not null     -- Version of promptlab that did
);

---------- what was read

-- One version of one file. `source_name` is the name the file gives to what is in
-- it (its path below the ingested folder): the same bytes under another name are
-- another testset.
create table if not exists raw.loads (
    load_id bigint not null,            -- Number of the load, counted up
    file_uri varchar not null,
    kind varchar not null,              -- testset, pipeline, analysis, results, memory, scores, unknown; a tool: promptfoo, inspect_ai, …
    source_name varchar not null,       -- Path below the ingested folder without suffix; the stem of a file named itself
    sha256 varchar not null,            -- Hash of the file's bytes
    bytes bigint not null,              -- Size of the file
    status varchar not null,            -- loaded, rejected, skipped, purged
    rows_loaded bigint not null,        -- records (cases, answers, scores, …) that were loaded
    rows_rejected bigint not null,      -- records that were rejected; the rows of raw.rejects say why
    testset_override varchar,           -- the testset named on the command line
    message varchar,                    -- one sentence where status is rejected or skipped
    started_at timestamptz not null,    -- When reading began, UTC
    finished_at timestamptz not null,   -- When reading ended, UTC
    ingest_version varchar not null,    -- Version of promptlab that read it
    read_with varchar,                  -- settings that decide what is read, such as redact=on
    ingest_id bigint                    -- first load of the call that read it
);

-- One object of one load. Of a file that was skipped as a copy of runs: those runs.
create table if not exists raw.objects (
    load_id bigint not null,
    kind varchar not null,              -- testset, pipeline, task, memory, scores, labels
    object_id varchar not null,         -- id of the testset, pipeline or task; memory: <run>|<conversation>; scores: the task; labels: the file
    run_hash varchar,                   -- files of other tools: equal for copies of one version of a run
    written_at timestamptz,             -- files of other tools: when the tool wrote this version of the run, where the file says so
    content_hash varchar,               -- scores: hash of their rows; the same content in the next version of the file is no new one
    is_gone boolean not null            -- the file had it before under this id, and has it no more
);

-- The answer that a score or a label was given for: that of its round when it came, or
-- the first that came after it. Where the round has another answer it does not count.
create table if not exists raw.judged_answers (
    load_id bigint not null,            -- Load of the score or label
    "line" bigint not null,             -- Its line
    labeler varchar not null,           -- Who labelled; empty: a score
    dimension_id varchar not null,      -- What was labelled; empty: the verdict of the round, or a score
    task_id varchar not null,           -- the task; of a label that names a round alone, the one that had it
    answer_hash varchar not null        -- hash of the answer
);

-- One problem of one record.
create table if not exists raw.rejects (
    load_id bigint not null,            -- Load that found it
    file_uri varchar not null,
    "line" bigint,                      -- from 1; null where the file has no lines (a folder)
    "column" bigint,                    -- from 1, in characters
    record_id varchar,                  -- the case, task or question that the problem belongs to
    pointer varchar,                    -- JSON Pointer inside the record (JSONL) or the file (JSON)
    severity varchar not null,          -- reject, warning
    code varchar not null,              -- Kind of problem, such as `wrong_type`
    message varchar not null,           -- What was found, what was expected, one fix
    raw_text varchar                    -- the record as written; null for warnings
);

-- Values that were redacted before anything of the file was stored.
create table if not exists raw.redactions (
    load_id bigint not null,
    rule varchar not null,              -- as in the mark: [redacted:email]
    n_values bigint not null            -- texts that were replaced
);

---------- testsets

create table if not exists raw.testsets (
    load_id bigint not null,
    testset_id varchar not null,
    file_uri varchar not null,
    feature varchar,                    -- the three parts of <feature>_<type>_<version>
    "type" varchar,                     -- Second part of the name
    version varchar,                    -- Third part of the name
    cases bigint not null               -- Cases that were loaded
);

create table if not exists raw.test_cases (
    load_id bigint not null,
    testset_id varchar not null,
    case_id varchar not null,
    "line" bigint not null,
    position bigint not null,
    format_version varchar not null,    -- 1.0, 2.0
    tags json not null,
    inputs json not null,
    step_inputs json not null,
    batch_items json,
    expected_outputs json not null,
    expected_aggregation json,          -- SQL null = absent or null: nothing expected
    intermediate_expectations json not null,
    evaluation_config json not null,    -- How to judge, as written
    raw_data json not null,             -- the record as written, unknown fields too
    content_hash varchar not null       -- of inputs, expectations and evaluation_config, key order ignored
);

-- One check: an expectation flattened, a row per leaf and per container.
create table if not exists raw.expectations (
    load_id bigint not null,
    testset_id varchar not null,
    case_id varchar not null,
    "line" bigint not null,
    scope varchar not null,             -- intermediate, aggregation, final
    step_id varchar,                    -- intermediate: the step
    field varchar,                      -- final: the key of expected_outputs; null on the root check of strict mode
    check_no bigint not null,           -- from 0 within the case, in the order of the file
    path varchar not null,              -- what SQL extracts by, below the step's or the field's output
    pointer varchar not null,           -- JSON Pointer, for people; starts at the scope's output
    matcher varchar not null,           -- object, array, text, contains, regex, number, bool, null
    expected json not null,             -- the expected value as written
    operand varchar,                    -- text, needle, translated pattern (null: invalid), number's text, true/false
    operand_ascii varchar,              -- regex: the untranslated pattern, for texts that are all ASCII
    number double,                      -- number: as a double; null where too large for one
    length bigint,                      -- array: expected elements
    allowed json,                       -- strict_mode: the keys an object may have; else null
    tolerance double not null           -- Largest difference of a number that still matches
);

---------- pipelines

create table if not exists raw.pipelines (
    load_id bigint not null,
    pipeline_id varchar not null,
    file_uri varchar not null,
    name varchar,
    evaluation_target varchar,
    default_testset varchar,
    raw_data json not null              -- The whole file, as JSON
);

create table if not exists raw.pipeline_steps (
    load_id bigint not null,
    pipeline_id varchar not null,
    step_id varchar not null,
    output_key varchar,
    "type" varchar,
    required boolean not null,          -- false only where the pipeline says so
    position bigint not null
);

---------- tasks: analysis inputs, evaluation results, runs of other tools

create table if not exists raw.tasks (
    load_id bigint not null,
    task_id varchar not null,
    source_kind varchar not null,       -- analysis, results; a tool: promptfoo, inspect_ai, …
    title varchar not null,
    prompt_version varchar not null,
    model varchar not null,
    triggered_by varchar not null,
    env json not null,
    created_at timestamptz not null,
    extras json not null,
    testset_ref varchar,                -- what the file or the command line says of its testset
    pipeline_ref varchar,               -- What the file says of its pipeline
    run_id varchar,                     -- files of other tools: the run; its tasks share it
    tool_version varchar,               -- files of other tools: what wrote them
    provider varchar,                   -- what answered, as the tool labels it; null: the model
    prompt_name varchar,                -- label of the prompt, without its text; null: none
    prompt_position bigint,             -- Place of the prompt among the prompts of its run, from 0
    variant varchar,                    -- name of the variant, where the file gives one
    settings json,                      -- temperature, seed and other settings of the model
    judge json,                         -- models and rubrics that judged the answers
    run_name varchar,                   -- --run-name: runs of one name are judged together
    branch varchar,                     -- branch that was evaluated
    base_branch varchar,                -- branch that it is compared with
    commit_sha varchar,                 -- commit that was evaluated
    revision_source varchar,            -- option, sources, git, or the CI system that said branch and commit; null: the file
    recheck_of varchar                  -- --recheck-of: the task or run whose cases were asked again; null: a run of its own
);

create table if not exists raw.cases (
    load_id bigint not null,
    task_id varchar not null,
    case_id varchar not null,
    position bigint not null,
    context json not null,
    tags json not null,
    cluster varchar,                    -- what its cases have in common: a conversation, a document
    categories json,                    -- Texts of its metadata by key; keys with few texts become tags
    expectation_hash varchar            -- hash of what its tool asserts; null: nothing beyond its baselines
);

create table if not exists raw.rounds (
    load_id bigint not null,
    task_id varchar not null,
    case_id varchar not null,
    round_id varchar not null,
    position bigint not null,           -- in the case
    run_index bigint not null,
    raw_output varchar,
    parsed_output json,                 -- SQL null = null
    input_tokens bigint,
    output_tokens bigint,
    latency_ms double,
    metadata json not null,
    executed_at timestamptz,
    error varchar,                      -- evaluation results: the `error` field
    final_output json,                  -- evaluation results: may be any JSON value
    step_outputs json,                  -- evaluation results: their own step outputs
    failed_steps json,
    rule_violations json,
    judge_feedback varchar,
    overall_score double,               -- evaluation results: the judge's 0–10
    reported_must_have_pass boolean,    -- Evaluation results: `must_have_pass` as given
    reported_status varchar,            -- the verdict of the tool that wrote it: pass, fail, error, unevaluated; null: it has none
    is_cached boolean,                  -- the answer came from a cache; null: not known
    steps json                          -- messages and tool calls of an agent, in order; null: none
);

create table if not exists raw.baselines (
    load_id bigint not null,
    task_id varchar not null,
    case_id varchar not null,
    baseline_id varchar not null,
    position bigint not null,
    "type" varchar not null,            -- golden_answer, rules, script, manual_note
    payload json not null,
    owner varchar not null,
    confidence double,                  -- 0–1
    patterns json                       -- pattern in the payload → its RE2 spellings; null: all are RE2 as written
);

-- One rule of a `rules` baseline.
create table if not exists raw.rules (
    load_id bigint not null,
    task_id varchar not null,
    case_id varchar not null,
    baseline_id varchar not null,
    rule_no bigint not null,            -- from 1 within the baseline
    "rule" varchar,                     -- contains, regex, max_chars, …; null: of no known kind
    severity varchar,                   -- must, should, …; null: not given
    field varchar,                      -- part of the answer that it reads; null: all of it
    operand json,                       -- what it compares with, as written
    number double,                      -- the operand as a number
    pattern varchar,                    -- regex: the translated pattern; null: not usable
    ascii_pattern varchar,              -- regex: the pattern for texts that are all ASCII
    is_usable boolean not null          -- the rule can be judged
);

-- One check of a golden answer that is compared as JSON, flattened like an expectation:
-- a row per leaf and per container. Only of tasks with a dimension of `match_rule: json`.
create table if not exists raw.golden_checks (
    load_id bigint not null,
    task_id varchar not null,
    case_id varchar not null,
    baseline_id varchar not null,
    golden_no bigint not null,          -- from 1 within the case: one of its alternatives
    check_no bigint not null,           -- from 0 within the golden answer
    path varchar not null,              -- what SQL extracts by, below the answer
    pointer varchar not null,           -- JSON Pointer, for people
    matcher varchar not null,           -- object, array, text, contains, regex, number, bool, null
    operand varchar,                    -- text, needle, translated pattern (null: invalid), number's text, true/false
    operand_ascii varchar,              -- regex: the untranslated pattern, for texts that are all ASCII
    number double,                      -- number: as a double; null where too large for one
    length bigint                       -- array: expected elements
);

create table if not exists raw.dimension_configs (
    load_id bigint not null,
    task_id varchar not null,
    dimension_id varchar not null,
    position bigint not null,
    name varchar not null,
    weight double not null,             -- 0–1
    target json not null,
    parameters json not null,
    scoring_mode varchar not null,      -- higher_better, lower_better, range
    is_graded boolean,                  -- other tools': values lie on the scale 0–1; null: a dimension of ours
    direction varchar,                  -- other tools': higher_better, lower_better; null: the tool does not say it
    -- parameters of the scorer; null: not given, or not usable
    match_rule varchar,                 -- accuracy: how an answer is compared
    compare varchar,                    -- consistency: what of two rounds is compared
    reducer varchar,                    -- How the rounds of a case become one score
    aggregation varchar,                -- How the cases become one score
    stability_of varchar,               -- stability: the dimension that it looks at
    scorer_name varchar,                -- Which of several outside scorers counts
    k bigint,                           -- Rounds of pass_at_k
    tolerance double,                   -- Largest difference of numbers that match
    pass_score double,                  -- Score from which a round passes
    trim_share double,                  -- Share that trimmed_mean leaves out on each side
    input_price_per_million double,     -- cost: price of a million input tokens
    output_price_per_million double,    -- cost: price of a million output tokens
    must json,                          -- keywords: a text or a list that the answer must contain
    must_not json,                      -- keywords: a text or a list that it must not contain
    required_keys json,                 -- format: keys of the output, perhaps with their types
    bad_parameters varchar,             -- parameters that cannot be used, for people; null: none
    -- limits of the target; null: not given, or not usable
    lower_limit double,                 -- In the unit of the scorer
    upper_limit double,                 -- In the unit of the scorer
    min_score double,                   -- Score below which there is an alert
    max_score double,                   -- Score above which there is an alert
    max_variance double,                -- Variance above which there is an alert
    target_problem varchar,             -- why the target allows no score; null: it does
    target_warning varchar              -- why a part of the target is not used; null: all is
);

-- What judged one dimension or assertion of a task, where a model did.
create table if not exists raw.judges (
    load_id bigint not null,
    task_id varchar not null,
    name varchar not null,              -- Dimension, assertion or type of assertions that was judged
    model varchar,                      -- Model that judged; null: not known
    template varchar,                   -- Its prompt; null: the default of the tool
    rubric varchar                      -- What it was asked; null: not known, or it differs from case to case
);

-- One assertion of a round as the tool judged it that wrote the file.
create table if not exists raw.reported_checks (
    load_id bigint not null,
    task_id varchar not null,
    case_id varchar not null,
    round_id varchar not null,          -- The round, unique in its case
    position bigint not null,           -- in the round
    parent_position bigint,             -- of the set of assertions it belongs to
    name varchar not null,              -- as the tool names it; its type where it has no name
    "type" varchar not null,            -- Kind of assertion, as the tool names it
    passed boolean,                     -- null: it could not be judged
    score double,                       -- as the tool says it
    weight double,                      -- Weight of the assertion, where the tool says it
    threshold double,                   -- Score from which it holds, where the tool says it
    expected json,                      -- What was asserted, as JSON
    reason varchar,                     -- Why it holds or does not, in the tool's words
    error varchar                       -- why it could not be judged
);

-- The number that a tool gave to one round on one dimension.
create table if not exists raw.reported_scores (
    load_id bigint not null,
    task_id varchar not null,
    case_id varchar not null,
    round_id varchar not null,          -- The round, unique in its case
    dimension_id varchar not null,      -- Scorer, metric or assertion, as the tool names it
    value double,                       -- the tool's own number; null: none (NaN, a judge that broke)
    score double,                       -- 0–1, 1 best; null: the value lies on no such scale
    summary varchar,                    -- Why, in the tool's words
    payload json not null               -- What else the tool says of it
);

-- What the file of a tool claims of its rows.
create table if not exists raw.claims (
    load_id bigint not null,
    task_id varchar not null,
    dimension_id varchar,               -- of whose values it is the mean; null: the number of rows
    value double                        -- null: the file does not say the number of rows
);

-- A score that something outside SQL gave to one round.
create table if not exists raw.scores (
    load_id bigint not null,
    "line" bigint not null,
    task_id varchar not null,
    case_id varchar not null,
    round_id varchar not null,
    dimension_id varchar not null,
    score double,                       -- 0–scale; null: the scorer could not judge
    scale double not null,
    summary varchar,
    payload json not null,
    scorer varchar not null,
    scorer_version varchar
);

-- What a person said of one answer: pass or fail, or a grade.
create table if not exists raw.labels (
    load_id bigint not null,
    "line" bigint not null,             -- Row of the file, from 1
    task_id varchar,                    -- null: any task with this output
    case_id varchar,                    -- null: any case with this output
    round_id varchar,                   -- null: every round with this output
    output_hash varchar,                -- MD5 of the answer; null: the round is named
    dimension_id varchar,               -- what was judged; null: the verdict of the round
    labeler varchar not null,           -- Who labelled
    label varchar,                      -- pass, fail; null: only a grade
    grade double,                       -- Grade on its own scale; null: only pass or fail
    scale double,                       -- Best grade there is
    policy varchar,                     -- version of the instruction that the labeler followed
    "split" varchar,                    -- train, dev, test; null: not split
    draw varchar,                       -- how the round was drawn: random, verdict, disagree; null: not known
    weight double,                      -- rounds that it stands for; null: all the same
    "comment" varchar,                  -- Comment of the labeler
    labeled_at timestamptz              -- When it was labelled, UTC
);

-- A pair of tasks that a person asked to compare; the marts keep it from then on.
create table if not exists raw.requested_comparisons (
    baseline_task_id varchar not null,  -- The task to compare with
    candidate_task_id varchar not null, -- The task that is compared
    requested_at timestamptz not null   -- When it was asked for, UTC
);

-- What a person accepted: a run is as it should be.
create table if not exists raw.accepts (
    task_id varchar not null,           -- Task that was accepted
    accepted_at timestamptz not null,   -- When, UTC
    reason varchar not null,            -- Why
    cases json not null                 -- Ids of its cases that were broken, watched or not compared: their history starts here
);

-- What config files say of titles, variants and prices: of each its rows at the last build
-- that read it. Where two files set the same, the row that was set last counts.
create table if not exists raw.settings (
    file varchar not null,              -- Config file, relative if it is below the folder of the warehouse; empty: set in Python
    setting varchar not null,           -- title: another name of a title; variant: a renamed variant; primary; owner; price; known_flaky; known_outage; memory; memory_abstention
    name varchar not null,              -- Old title, old variant, title, pattern of models (SQL `like`), key of [memory], phrase
    value varchar,                      -- New title, new variant, dimension, case, run or task, value of [memory]; null for a price
    input_price double,                 -- Price of a million input tokens
    output_price double,                -- Price of a million output tokens
    ends_on date,                       -- Last day (UTC) of the runs for which a case is known to be flaky
    set_at timestamptz not null         -- Time of the build that read it first, UTC
);

---------- the memory benchmark

-- One file: the run of one conversation (task).
create table if not exists raw.memory_runs (
    load_id bigint not null,
    run_id varchar not null,            -- <dataset>/<timestamp>[/<memory system>]
    task_id varchar not null,           -- The conversation, a file
    dataset varchar not null,           -- Name of the data set
    run_timestamp varchar,              -- as in the folder's or file's name
    memory_system varchar,              -- The system that was tested, where the path names it
    started_at timestamptz,             -- run_timestamp read as a time, UTC; null where it is none
    total_sessions bigint,
    total_dialogs bigint,
    total_messages bigint,
    total_questions bigint,
    valid_questions bigint,
    total_tests bigint,
    test_segments bigint,
    test_threshold varchar,
    extras json not null,               -- what this version of the format does not understand
    created_at timestamptz,             -- --time, else started_at, else the time of the load
    title varchar,                      -- --title; null: the data set
    variant varchar,                    -- --variant; null: the memory system
    run_name varchar,                   -- --run-name: runs of one name are judged together
    branch varchar,                     -- branch that was evaluated
    base_branch varchar,                -- branch that it is compared with
    commit_sha varchar,                 -- commit that was evaluated
    revision_source varchar             -- option, sources, or the CI system that said branch and commit
);

-- One round of questions.
create table if not exists raw.memory_tests (
    load_id bigint not null,
    run_id varchar not null,
    task_id varchar not null,           -- The conversation, a file
    test_index bigint not null,
    range_start bigint,                 -- First question of the round
    range_end bigint,                   -- Last question of the round
    dialogs_inserted_count bigint,
    questions bigint not null,          -- that were loaded
    memory_snapshot json,               -- state of the memory at this round, keys as the system likes
    extras json not null
);

create table if not exists raw.memory_answers (
    load_id bigint not null,
    run_id varchar not null,
    task_id varchar not null,           -- The conversation, a file
    test_index bigint not null,
    question_index bigint not null,
    position bigint not null,           -- in the round
    question_key varchar not null,      -- the question's identity across rounds and runs
    question_text varchar not null,     -- The question
    predicted_answer varchar,
    reference_answer json,              -- text, number or list, as given; SQL null = missing
    evidence json,
    category varchar,                   -- as given, as text
    error varchar,                      -- null where the call did not fail with a message
    reference_texts json,               -- the reference's alternatives as texts; SQL null = no reference
    answer_stems json,                  -- the answer's parts in LoCoMo's form: stems joined by blanks
    reference_stems json,               -- per alternative a list of parts in that form
    extras json not null,               -- what the data set says of the question beyond the format
    is_chinese boolean,                 -- Whether the reference (without one, the question) is Chinese
    cmrc_f1 double,                     -- F1 of CMRC 2018; null unless most of the file is Chinese
    is_same boolean                     -- Whether the answer says what the reference says; null where that is not plain
);

create table if not exists raw.memory_invalid_questions (
    load_id bigint not null,
    run_id varchar not null,
    task_id varchar not null,           -- The conversation, a file
    position bigint not null,           -- Place in the list, from 0
    question_index bigint,
    question varchar,
    reason varchar
);

-- One stage of one insert or retrieval, as `timing_summary` lists them.
create table if not exists raw.memory_timings (
    load_id bigint not null,
    run_id varchar not null,
    task_id varchar not null,           -- The conversation, a file
    operation varchar not null,         -- insert, retrieval
    grain varchar not null,             -- summary, detail
    position bigint not null,           -- detail: of the call; summary: of the stage
    test_index bigint,                  -- retrieval details: the round
    stage varchar not null,             -- pre, memory, post, or another key without its `_ms`
    duration_ms double,                 -- detail: this one; summary: the mean
    min_ms double,                      -- Shortest call, in milliseconds (summary)
    max_ms double,                      -- Longest call, in milliseconds (summary)
    count bigint                        -- Calls (summary)
);

---------- what was built

-- One finished run of the models; written by dbt as it ends, and by nothing else.
create table if not exists raw.builds (
    built_at timestamptz not null,      -- when it ended, UTC
    project_hash varchar not null,      -- of the models, seeds and macros that ran
    last_load_id bigint not null,       -- newest load that it saw; 0 where there was none
    is_full_refresh boolean not null,   -- everything was computed again
    promptlab_version varchar,          -- null where dbt was run by itself
    invocation_id varchar not null      -- dbt's own
);

-- What each task and comparison was built from: the next build takes those
-- whose fingerprint has changed, and deletes those that are gone.
create table if not exists raw.task_builds (
    task_id varchar not null,
    title varchar not null,             -- as it was then
    fingerprint varchar not null        -- hash of the loads of its rounds, testset, pipeline and scores
);

create table if not exists raw.comparison_builds (
    candidate_task_id varchar not null, -- the task that was compared
    fingerprint varchar not null,       -- hash of its own and of those it was compared with
    built_at timestamptz not null       -- when that was, UTC
);

-- One `promptlab run` whose reports are all written: what was built after it began is
-- what the next one reports.
create table if not exists raw.reported_runs (
    began_at timestamptz not null       -- UTC
);

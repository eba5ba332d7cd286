{#- Statements that change tables, engine by engine. -#}

{#- A hook of several statements: all of them or none where the engine has transactions. -#}
{% macro run_together(statements) -%}
    {{ return(adapter.dispatch('run_together')(statements)) }}
{%- endmacro %}

{% macro default__run_together(statements) -%}
    {{ statements | join(';\n') }}
{%- endmacro %}

{% macro spark__run_together(statements) -%}
    {%- for statement in statements -%}{%- do run_query(statement) -%}{%- endfor -%}
{%- endmacro %}

{#- The statements that put the rows of a query in the place of those that meet a
    condition. -#}
{% macro replace_rows(table, condition, rows) -%}
    {{ return(adapter.dispatch('replace_rows')(table, condition, rows)) }}
{%- endmacro %}

{% macro default__replace_rows(table, condition, rows) -%}
    {{ return([
        'delete from ' ~ table ~ ' where ' ~ condition,
        'insert into ' ~ table ~ ' ' ~ rows,
    ]) }}
{%- endmacro %}

{#- A Parquet table can only be written anew, and not while it is read. -#}
{% macro spark__replace_rows(table, condition, rows) -%}
    {%- set next = table ~ '__next' -%}
    {{ return([
        'drop table if exists ' ~ next,
        'create table ' ~ next ~ ' using parquet as select * from ' ~ table
            ~ ' where not (' ~ condition ~ ') union all ' ~ rows,
        'insert overwrite table ' ~ table ~ ' select * from ' ~ next,
        'drop table ' ~ next,
    ]) }}
{%- endmacro %}

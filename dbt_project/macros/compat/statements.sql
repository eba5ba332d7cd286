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

{#- A Parquet table can only be written anew, and not while it is read: its rows go to
    `__next` and back. -#}
{% macro spark__replace_rows(table, condition, rows) -%}
    {{ return([
        'insert overwrite table ' ~ table ~ '__next select * from ' ~ table
            ~ ' where not (' ~ condition ~ ') union all ' ~ rows,
        'insert overwrite table ' ~ table ~ ' select * from ' ~ table ~ '__next',
    ]) }}
{%- endmacro %}


{#- A view in the place of the one of its name. -#}
{% macro replace_view(name, rows) -%}
    {{ return(adapter.dispatch('replace_view')(name, rows)) }}
{%- endmacro %}

{% macro default__replace_view(name, rows) -%}
    {%- do run_query('create or replace view ' ~ name ~ ' as ' ~ rows) -%}
{%- endmacro %}

{#- Iceberg's catalog keeps the old text of a view that is replaced, and says nothing. -#}
{% macro spark__replace_view(name, rows) -%}
    {%- do run_query('drop view if exists ' ~ name) -%}
    {%- do run_query('create view ' ~ name ~ ' as ' ~ rows) -%}
{%- endmacro %}


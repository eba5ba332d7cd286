{#- A hash of the logic: of every model, seed and macro of this project.
    The same in a project that has this one as a package. What another engine needs is a
    part of it there only. -#}
{% macro project_hash() %}
    {%- set texts = [env_var('PROMPTLAB_RULES', '')] -%}
    {%- for node in models_and_seeds() -%}
        {%- do texts.append(node.unique_id ~ ' ' ~ node.checksum.checksum) -%}
    {%- endfor -%}
    {%- for name, macro in context.items() if macro.macro is defined -%}
        {%- set folder = macro.macro.original_file_path.split('/')[0] -%}
        {%- if macro.macro.package_name == 'promptlab' and folder in ('macros', target.type) -%}
            {%- do texts.append(macro.macro.unique_id ~ ' ' ~ macro.macro.macro_sql) -%}
        {%- endif -%}
    {%- endfor -%}
    {{ return(local_md5(texts | sort | join('\n'))) }}
{% endmacro %}

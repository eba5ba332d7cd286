{#- What a plan needs besides the compiled SQL of each node, as JSON: statements of a build
    that are in no model. Names after `$` are parameters of the program that runs it. -#}
{%- if execute -%}
    {%- set replaced = {} -%}
    {%- for node in models_kept() -%}
        {%- do replaced.update({
            node.name: is_replaced(node.config.meta.batch, node.config.unique_key)
        }) -%}
    {%- endfor -%}
    {{ tojson({
        'project_hash': project_hash(),
        'replaced': replaced,
        'forget': forget_builds(),
        'remember': [remember_build('$is_full_refresh', '$promptlab_version', '$build_id')]
            + remember_batches(),
    }) }}
{%- endif -%}

{{ config(alias='objects', materialized='table') }}

-- stored because nearly every model reads it; loads and builds write it anew
select * from {{ ref('promptlab', 'live_newest_loads') }}

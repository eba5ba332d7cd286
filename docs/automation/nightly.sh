#!/bin/sh
# Every night: load what is new, build, report, publish a copy for readers, keep seven
# backups, examine the file. Put it into a crontab:
#
#   PROMPTLAB_DB=/srv/promptlab/warehouse.duckdb
#   15 2 * * *  /srv/promptlab/nightly.sh /srv/runs /srv/www/reports /srv/public /srv/backups
#
# Usage: nightly.sh INPUTS REPORTS PUBLIC BACKUPS   (folders; the last two exist)
set -eu

inputs=$1 reports=$2 public=$3 backups=$4
export PROMPTLAB_LOG_FORMAT=json PROMPTLAB_LOCK_TIMEOUT=600

# 6: some files could not be read. The others are loaded; the exit code tells at the end.
status=0
promptlab run "$inputs" --out "$reports" --publish "$public" || status=$?
case $status in 0 | 6) ;; *) exit "$status" ;; esac

promptlab export --file "$backups/$(date +%a).duckdb"
promptlab doctor --format csv
exit "$status"

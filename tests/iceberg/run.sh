#!/usr/bin/env bash
# Compares what dovetail reads of tables of Iceberg with what pyiceberg reads of them.
#
#   tests/iceberg/run.sh                 the tables of the tests, then 40 drawn from the seed 1
#   tests/iceberg/run.sh SEED COUNT      others
#
# The program is target/debug/dovetail, or $DOVETAIL. Exit status: 0 when all queries gave the same.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=$root/target/iceberg
program=${DOVETAIL:-$root/target/debug/dovetail}
seed=${1:-1} count=${2:-40}
if [ ! -x "$cache/bin/python" ]; then
  python3 -m venv "$cache"
fi
if ! "$cache/bin/python" -c 'import pyiceberg, pyarrow, sqlalchemy, pyiceberg_core' 2>/dev/null; then
  "$cache/bin/pip" install --quiet 'pyiceberg[sql-sqlite,pyarrow,pyiceberg-core]==0.12.0'
fi
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$cache/bin/python" "$here/tables.py" "$scratch/golden"
"$cache/bin/python" "$here/tables.py" "$scratch/drawn" "$seed" "$count"
"$cache/bin/python" "$here/compare.py" "$program" "$scratch/golden" "$scratch/drawn"

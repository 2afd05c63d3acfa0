#!/usr/bin/env bash
# Drives the server with clients that others wrote: psql, psycopg, psycopg2, asyncpg, SQLAlchemy,
# Alembic, Django, pgjdbc, Hibernate with Flyway and Liquibase, node-postgres, TypeORM, tokio-postgres,
# pgbench, go-tpc, pg_isready, pg_dump.
#
#   tests/clients/run.sh                      all of them, against a debug build
#   tests/clients/run.sh --quick              those that need no download beyond Python's and Node's
#   tests/clients/run.sh --gate               those whose checks are quick, against the debug build that is
#                                             there; the counts as a test harness prints them
#   tests/clients/run.sh --fetch              installs what those of --gate need, and does nothing else
#   tests/clients/run.sh --binary PATH        another binary
#   tests/clients/run.sh --only pgjdbc        one of them (may be repeated)
#   tests/clients/run.sh --postgres           the same against PostgreSQL, which the expectations are of:
#                                             at PGHOST, PGPORT, as PGUSER, in a scratch database
#                                             that is made for it and dropped again
#   tests/clients/run.sh --record             psql's expected output, from that PostgreSQL
#
# What a client needs is installed under target/clients. A client that cannot be had is a skip that
# is counted and says why. Exit status: 0 when nothing failed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${CLIENTS_DIR:-$root/target/clients}
source "$here/table.sh"
source "$here/tools.sh"
source "$here/suites.sh"

binary= quick=false gate=false fetch=false postgres=false record=false only=()
while [ $# -gt 0 ]; do
  case $1 in
    --binary) binary=$2; shift ;;
    --quick) quick=true ;;
    --gate) gate=true ;;
    --fetch) gate=true fetch=true ;;
    --only) only+=("$2"); shift ;;
    --postgres) postgres=true ;;
    --record) record=true ;;
    *) sed -n '2,21s/^# \{0,1\}//p' "$0"; exit 2 ;;
  esac
  shift
done
mkdir -p "$cache"
scratch=$(mktemp -d)
server_pid=
reference=
trap 'stop_server; drop_reference; rm -rf "$scratch"' EXIT

# With PostgreSQL the suites drop tables and schemas: they get a database of their own.
make_reference() {
  : "${PGHOST:?}" "${PGPORT:?}" "${PGUSER:?}"
  reference=dovetail_clients_$$
  createdb "$reference" || { reference=; exit 1; }
  export PGDATABASE=$reference
}

drop_reference() { [ -z "$reference" ] || dropdb --force "$reference"; }

build() {
  [ -n "$binary" ] && return
  $gate || (cd "$root" && cargo build --quiet -p cli) || exit 1
  binary=${CARGO_TARGET_DIR:-$root/target}/debug/dovetail
  [ -x "$binary" ] || { echo "there is no $binary"; exit 1; }
}

# A server of its own for each suite, so that none sees the tables of another.
start_server() {
  $postgres && return 0
  local name=$1 log=$scratch/$1.log port=
  : >"$log"
  shift
  mkdir "$scratch/$name"
  "$binary" serve --data "$scratch/$name/clients.dovetail" --listen 127.0.0.1:0 --no-http "$@" \
    >"$log" 2>&1 &
  server_pid=$!
  for _ in $(seq 100); do
    port=$(sed -n 's/^.*Listening at 127.0.0.1:\([0-9]*\)\..*/\1/p' "$log")
    [ -n "$port" ] && break
    kill -0 "$server_pid" 2>/dev/null || break
    sleep 0.1
  done
  [ -n "$port" ] || { cat "$log"; return 1; }
  export PGHOST=127.0.0.1 PGPORT=$port PGUSER=dovetail PGDATABASE=clients
}

# The server must have lived to the end of its suite, and must stop when told to.
stop_server() {
  [ -n "$server_pid" ] || return 0
  local pid=$server_pid status
  server_pid=
  kill -TERM "$pid" 2>/dev/null
  for _ in $(seq 100); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
  kill -KILL "$pid" 2>/dev/null && { wait "$pid" 2>/dev/null; return 1; }
  wait "$pid" 2>/dev/null
  status=$?
  [ $status = 0 ]
}

run_suite() {
  local name=$1
  wanted "$name" || return 0
  if $fetch; then
    "tools_$name" || echo "$name: $why"
    return
  fi
  if ! "tools_$name"; then
    skip_suite "$name" "$why"
    return
  fi
  start_server "$name" || { fail_suite "$name" "the server did not start"; return; }
  "suite_$name" >"$scratch/$name.out" 2>"$scratch/$name.err"
  local status=$?
  count_suite "$name" "$scratch/$name.out" "$scratch/$name.err" $status
  if ! $postgres && ! kill -0 "$server_pid" 2>/dev/null; then
    tail -20 "$scratch/$name.log"
    fail_suite "$name" "the server died"
    server_pid=
  elif ! stop_server; then
    fail_suite "$name" "the server did not stop cleanly"
  fi
}

wanted() {
  $gate && { case $1 in pg_isready | psql | psycopg | asyncpg | node | pgjdbc | rust | dump) return 0 ;; esac; return 1; }
  [ ${#only[@]} = 0 ] && { $quick && case $1 in sqlalchemy | alembic | django | hibernate | typeorm | rust | pgbench | go-tpc) return 1 ;; esac; return 0; }
  local name
  for name in "${only[@]}"; do [ "$name" = "$1" ] && return 0; done
  return 1
}

if $postgres || $record; then make_reference; elif ! $fetch; then build; fi
if $record; then suite_psql_record; exit; fi
suites=(pg_isready psql psycopg psycopg2 asyncpg sqlalchemy alembic django node typeorm pgjdbc hibernate
  rust introspection dump pgbench go-tpc)
for suite in "${suites[@]}"; do
  run_suite $suite
done
if $fetch; then exit; fi
print_table
status=$?
$gate && print_counts
exit $status

# One function for each client; it prints `version ..`, then a line for each check. Sourced by run.sh.

python_suite() { (cd "$here/python" && "$cache/python/bin/python" "$1"); }

suite_psycopg() { python_suite test_psycopg.py; }
suite_psycopg2() { python_suite test_psycopg2.py; }
suite_asyncpg() { python_suite test_asyncpg.py; }
suite_sqlalchemy() {
  python_suite test_sqlalchemy.py && python_suite test_sqlalchemy_sessions.py &&
    python_suite test_sqlalchemy_transactions.py
}
suite_alembic() { CLIENTS_SCRATCH=$scratch python_suite test_alembic.py; }
suite_django() { python_suite test_django.py && python_suite test_django_project.py; }
suite_introspection() { python_suite test_introspection.py; }
suite_dump() { CLIENTS_BINARY=$binary python_suite test_dump.py; }
suite_node() { NODE_PATH=$cache/node/node_modules node --no-deprecation "$here/node/test_pg.js"; }
suite_typeorm() {
  NODE_PATH=$cache/typeorm/node_modules node --no-deprecation "$here/node/typeorm/test_typeorm.js"
}
suite_rust() { "$cache/rust/debug/clients"; }

suite_pgjdbc() {
  java -XX:TieredStopAtLevel=1 -cp "$cache/java:$cache/pgjdbc-$pgjdbc_version.jar" PgjdbcTest
}

suite_hibernate() {
  java -XX:TieredStopAtLevel=1 -cp "$cache/hibernate/classes:$cache/hibernate/lib/*" Checks
}

# One thread loads: with several, go-tpc loads customers before their districts, and the keys fail.
# Some seconds of each level of isolation; behind each the conditions of TPC-C must hold. Above READ
# COMMITTED transactions that conflict fail with 40001, which go-tpc tells and goes on from.
suite_go-tpc() {
  echo "version ${go_tpc_version#v}"
  local said=$scratch/go-tpc.said
  go_tpc 300 prepare --threads 1 --use-fk >"$said" 2>&1
  go_tpc_judged prepare "$said" 'condition 3.3.2.1$' '' || return 0
  # The checks join all orders with their lines: a plan without statistics takes minutes.
  psql --quiet --no-psqlrc --command analyze >>"$said" 2>&1
  local level number threads
  for level in read_committed:2:8 repeatable_read:4:4 serializable:6:4; do
    IFS=: read -r level number threads <<<"$level"
    go_tpc 60 run --threads "$threads" --time 8s --isolation "$number" \
      $([ "$number" = 2 ] || echo --ignore-error) >"$said" 2>&1
    go_tpc_judged "run_$level" "$said" '^tpmC' "$([ "$number" = 2 ] || echo 40001)"
    go_tpc 600 check >"$said" 2>&1
    go_tpc_judged "check_$level" "$said" 'condition 3.3.2.12$' ''
  done
}

go_tpc() {
  local limit=$1
  shift
  timeout "$limit" "$cache/go/bin/go-tpc" tpcc "$@" --warehouses 1 --driver postgres --host "$PGHOST" \
    --port "$PGPORT" --user "$PGUSER" --db "$PGDATABASE" --conn-params sslmode=disable
}

# go-tpc ends with status 0 whatever went wrong: what it says counts. Failures of one SQLSTATE may be
# allowed, as PostgreSQL's driver words them.
go_tpc_judged() {
  local check=$1 said=$2 wanted=$3 allowed=$4 wrong
  wrong=$(grep -iE 'fail|panic|error|refused' "$said" |
    if [ "$allowed" = 40001 ]; then grep -vE 'could not serialize|deadlock detected'; else cat; fi)
  if [ -z "$wrong" ] && grep -q "$wanted" "$said" && grep -q '^Finished' "$said"; then
    echo "ok $check"
    return
  fi
  echo "FAIL $check: $(head -1 <<<"${wrong:-$(tail -1 "$said")}" | cut -c1-300)"
  return 1
}

suite_pg_isready() {
  echo "version $(pg_isready --version | grep -o '[0-9.]*' | head -1)"
  if pg_isready --quiet --timeout=10; then echo "ok accepting"; else echo "FAIL accepting: status $?"; fi
  if PGPORT=1 pg_isready --quiet --timeout=5; then echo "FAIL refused: nobody is there"; else echo "ok refused"; fi
}

# Each script's output must be what PostgreSQL's psql printed, to the byte. Where the engine is meant
# to differ, NAME.differs has the lines that do, as diff prints them, under `# differs: reason`.
suite_psql() {
  echo "version $(psql --version | grep -o '[0-9.]*' | head -1)"
  local script name found
  [ -n "$reference" ] && psql -qc 'drop schema public cascade; create schema public' 2>/dev/null
  for script in "$here"/psql/*.sql; do
    name=$(basename "$script" .sql)
    found=$scratch/$name.found
    psql_script "$script" >"$found"
    diff -u "${script%.sql}.out" "$found" >"$scratch/$name.diff"
    if [ "$(diff "${script%.sql}.out" "$found" | grep '^[<>]')" = "$(meant_to_differ "$script")" ]; then
      echo "ok $name"
    else
      echo "FAIL $name: $(grep -c '^[-+][^-+]' "$scratch/$name.diff") lines differ"
      sed -n '3,60p' "$scratch/$name.diff" | sed 's/^/     /'
    fi
  done
}

meant_to_differ() {
  $postgres || grep -v '^#' "${1%.sql}.differs" 2>/dev/null
}

# The name of the owner is not the same everywhere.
psql_script() {
  (cd "$here/psql" && timeout 120 psql --no-psqlrc --quiet --no-password \
    --variable=ON_ERROR_STOP=0 --echo-all --file "$(basename "$1")" 2>&1) |
    sed "s/| ${PGUSER:-postgres} *\$/| owner/; s/\\b${PGUSER:-postgres}\\b/owner/g; s/\\b$PGDATABASE\\b/database/g"
}

suite_psql_record() {
  local script
  [ -n "$reference" ] || return 1
  psql -qc 'drop schema public cascade; create schema public' 2>/dev/null
  for script in "$here"/psql/*.sql; do psql_script "$script" >"${script%.sql}.out"; done
}

suite_pgbench() {
  echo "version $(pgbench --version | grep -o '[0-9.]*' | head -1)"
  pgbench_tables || { echo "FAIL tables: they could not be made"; return; }
  local mode
  for mode in simple extended prepared; do
    if pgbench -n -S -M $mode -c 8 -j 2 -t 200 >"$scratch/pgbench.said" 2>&1 &&
      grep -q 'number of failed transactions: 0 ' "$scratch/pgbench.said"; then
      echo "ok select_$mode"
    else
      echo "FAIL select_$mode: $(tail -1 "$scratch/pgbench.said")"
    fi
  done
}

# As `pgbench -i` makes them; its own way is checked apart.
pgbench_tables() {
  if pgbench -i -q -s 1 >"$scratch/pgbench.said" 2>&1; then echo "ok initialise"; return; fi
  echo "skip initialise: $(grep -m1 ERROR "$scratch/pgbench.said")"
  psql --quiet --no-psqlrc --set=ON_ERROR_STOP=1 <<'SQL' >&2
drop table if exists pgbench_accounts, pgbench_branches, pgbench_tellers, pgbench_history;
create table pgbench_branches (bid int primary key, bbalance int, filler char(88));
create table pgbench_tellers (tid int primary key, bid int, tbalance int, filler char(84));
create table pgbench_history (tid int, bid int, aid int, delta int, mtime timestamp, filler char(22));
create table pgbench_accounts (aid int primary key, bid int, abalance int, filler char(84));
insert into pgbench_branches values (1, 0, null);
insert into pgbench_tellers select g, 1, 0, null from generate_series(1, 10) g;
insert into pgbench_accounts select g, 1, 0, '' from generate_series(1, 100000) g;
SQL
}

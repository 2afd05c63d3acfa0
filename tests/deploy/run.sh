#!/usr/bin/env bash
# Tries what deploy/ promises: the unit file is sound, the sample configuration starts a server, the
# seccomp profile lets it work with io_uring, and without io_uring it says so and works too; SIGTERM
# ends it with 0.
#
#   tests/deploy/run.sh [BINARY]      default: target/release/dovetail
#
# Needs python3 and psql. What is not there is skipped, counted and named.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
binary=$(realpath "${1:-$root/target/release/dovetail}")
folder=$(mktemp -d)
passed=0 failed=0 skipped=0
trap 'rm -rf "$folder"' EXIT

ok() { passed=$((passed + 1)); echo "ok       $1"; }
no() { failed=$((failed + 1)); echo "FAILED   $1"; sed 's/^/         /' "$folder/log" 2>/dev/null; }
skip() { skipped=$((skipped + 1)); echo "SKIPPED  $1"; }

# serve NAME EXPECTED-IN-LOG COMMAND..: starts the server, asks it something, stops it.
serve() {
  local name=$1 expected=$2
  shift 2
  DOVETAIL_DATA="$folder/d.dovetail" DOVETAIL_LISTEN=127.0.0.1:0 DOVETAIL_HTTP=off \
    DOVETAIL_UNIX_SOCKET="$folder" DOVETAIL_MEMORY=64MB "$@" 2>"$folder/log" &
  local pid=$! answer
  for _ in $(seq 100); do
    grep -q "Listening at $folder" "$folder/log" && break
    sleep 0.1
  done
  answer=$(psql -X -h "$folder" -U x -Atc "create table if not exists t (a int primary key)" \
    -c "truncate t" -c "insert into t select * from generate_series(1, 5000)" \
    -c "select count(*) from t" d 2>&1 | tail -1)
  kill -TERM $pid
  wait $pid
  local code=$?
  if [ "$answer" = 5000 ] && [ $code = 0 ] && grep -q "$expected" "$folder/log"; then
    ok "$name"
  else
    echo "answer $answer, exit code $code, expected in the log: $expected"
    no "$name"
  fi
}

if command -v systemd-analyze >/dev/null; then
  sed "s|/usr/local/bin/dovetail|$binary|" "$root/deploy/dovetail.service" >"$folder/dovetail.service"
  if systemd-analyze verify "$folder/dovetail.service" >"$folder/log" 2>&1 && [ ! -s "$folder/log" ]
  then ok "the unit file is sound"; else no "the unit file is sound"; fi
else
  skip "the unit file: there is no systemd-analyze"
fi

if ! command -v psql >/dev/null; then
  skip "servers: there is no psql"
else
  serve "the sample configuration" '"message":"Listening' \
    "$binary" serve --config "$root/deploy/dovetail.toml"
  under=("$root/deploy/under_seccomp.py")
  serve "io_uring under the seccomp profile" "ring Uring" \
    "${under[@]}" "$root/deploy/seccomp.json" -- "$binary" serve
  serve "threads where the profile denies io_uring" "ring Threads: denied" \
    "${under[@]}" --without io_uring_setup "$root/deploy/seccomp.json" -- "$binary" serve
fi

echo "$passed passed, $failed failed, $skipped skipped"
[ $failed = 0 ]

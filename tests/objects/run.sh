#!/usr/bin/env bash
# Asks object stores that others wrote for everything that `objectstore` can ask for: moto and versitygw
# (S3), Azurite (Azure), fake-gcs-server (Google). Those of S3 and Google then keep the tables of TPC-H, whose
# queries give the right answers in all modes; those of S3 a table whose writer is killed as a process, again and
# again; Azurite and fake-gcs-server a table that one database writes and another one reads.
#
#   tests/objects/run.sh                 all of them
#   tests/objects/run.sh --only moto     one of them (may be repeated)
#   tests/objects/run.sh --fetch         installs what can be had, and does nothing else
#   tests/objects/run.sh --gate          with the program that is built already; the counts as a test harness
#                                        prints them, and no failure where no server can be had
#
# What is needed is installed under target/objects. A server that cannot be had is a skip that is counted
# and says why. Exit status: 0 when nothing failed and something passed.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cache=${OBJECTS_DIR:-$root/target/objects}
gate=false fetch=false only=()
while [ $# -gt 0 ]; do
  case $1 in
    --only) only+=("$2"); shift ;;
    --gate) gate=true ;;
    --fetch) gate=true fetch=true ;;
    *) sed -n '2,14s/^# \{0,1\}//p' "$0"; exit 2 ;;
  esac
  shift
done
mkdir -p "$cache"
scratch=$(mktemp -d)
server_pid=
passed=0 failed=0 skipped=0
stop() {
  [ -z "$server_pid" ] || { kill "$server_pid" 2>/dev/null; wait "$server_pid" 2>/dev/null; }
  server_pid=
}
trap 'stop; rm -rf "$scratch"' EXIT

wanted() { [ ${#only[@]} -eq 0 ] || [[ " ${only[*]} " == *" $1 "* ]]; }

skip() {
  echo "SKIPPED $1: $2"
  skipped=$((skipped + 1))
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# wait_for PORT: until somebody listens there.
wait_for() {
  for _ in $(seq 150); do
    (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return 0
    sleep 0.1
  done
  return 1
}

# exercise NAME KIND ENDPOINT BUCKET [ACCOUNT]
exercise() {
  local name=$1
  shift
  echo "== $name"
  if "$program" "$@"; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
}

# tables NAME ENDPOINT [START SECRET]: TPC-H at a hundredth of its size, its chunks in the store; all 22 queries, in
# all modes, against the answers of another engine; then all rows once more from a second database, with keys that it
# finds itself or by the options SECRET, and from a database that is the bucket. Locations begin with START.
tables() {
  local name=$1 start=${3:-s3://bucket} secret=${4:-type s3, provider credential_chain}
  echo "== tables in $name"
  if keys "$2" "$dovetail" tpch verify --sf 0.01 --storage column --location "$start/tpch" \
      --data "$scratch/$name.dovetail" \
    && second "$2" "$scratch/$name-second.dovetail" "$start" "$secret" && bucket "$2" "$start"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
}

# killed NAME ENDPOINT: a writer that gets SIGKILL in the midst of loads leaves the old table or the new one.
killed() {
  echo "== a killed writer in $1"
  mkdir "$scratch/$1-killed"
  if keys "$2" python3 "$here/killed.py" "$dovetail" "$scratch/$1-killed" s3://bucket/killed "$2"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
  fi
}

# second ENDPOINT FILE START SECRET: a database that only reads what the first one wrote.
second() {
  local found
  found=$(keys "$1" "$dovetail" sql "$2" -c "create secret s ($4, endpoint '$1')" \
    -c "create table lineitem with (location = '$3/tpch/lineitem')" \
    -c "select count(*), sum(l_quantity) from lineitem") || return 1
  echo "$found" | grep -q 60175 || { echo "the second database finds: $found"; return 1; }
}

# one_table NAME SECRET LOCATION: a database writes, changes and reads a table; another one reads it, and does so
# again after the first one has changed it.
one_table() {
  local name=$1 secret=$2 location=$3 found first=$scratch/$1-first.dovetail second=$scratch/$1-other.dovetail
  echo "== a table in $name"
  local query="select count(*), sum(a), min(b), max(b) from t"
  found=$({ "$dovetail" sql "$first" --csv -t -c "create secret s ($secret)" \
      -c "create table t (a int, b text) with (storage = column, location = '$location')" \
      -c "insert into t select i, md5(i::text) from generate_series(1, 100000) i" -c "$query" \
    && "$dovetail" sql "$second" --csv -t -c "create secret s ($secret)" \
      -c "create table t with (location = '$location')" -c "$query" \
    && "$dovetail" sql "$first" --csv -t -c "delete from t where a <= 10" -c "reorganize table t" \
    && "$dovetail" sql "$second" --csv -t -c "$query"; } 2>&1)
  if [ "$(echo "$found" | grep -c "^100000,5000050000,")" = 2 ] && echo "$found" | grep -q "^99990,5000049945,"; then
    passed=$((passed + 1))
  else
    echo "$found"
    failed=$((failed + 1))
  fi
}

# keys ENDPOINT COMMAND..: with the keys in its environment.
keys() {
  local endpoint=$1
  shift
  AWS_ACCESS_KEY_ID=$OBJECTS_ID AWS_SECRET_ACCESS_KEY=$OBJECTS_SECRET AWS_ENDPOINT_URL=$endpoint \
    CLOUDSDK_AUTH_ACCESS_TOKEN=$OBJECTS_SECRET STORAGE_EMULATOR_HOST=$endpoint "$@"
}

# bucket ENDPOINT START: all tables of the bucket, opened from there alone; the same rows once more as Parquet.
bucket() {
  local found query="select count(*), sum(l_quantity) from"
  found=$(keys "$1" "$dovetail" sql "$2/tpch" --csv -t -c "$query lineitem" \
    -c "copy lineitem to '$2/files/lineitem.parquet' (format parquet, row_group_size 5000)" \
    -c "$query '$2/files/*.parquet'" -c "select count(*) from orders") || return 1
  [ "$(echo "$found" | grep -c "^60175,")" = 2 ] && echo "$found" | grep -q "^15000" \
    || { echo "the bucket as a database finds: $found"; return 1; }
}

# make_bucket URL: by curl, whose requests are signed by code that is not ours. The hash is that of nothing.
nothing=e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
make_bucket() {
  curl --silent --fail --output /dev/null --aws-sigv4 aws:amz:us-east-1:s3 \
    --user "$OBJECTS_ID:$OBJECTS_SECRET" -H "x-amz-content-sha256: $nothing" -X PUT "$1"
}

get_moto() {
  local python=$cache/python/bin
  [ -x "$python/moto_server" ] && return
  { python3 -m venv "$cache/python" && "$python/pip" --quiet install 'moto[server]'; } \
    >"$cache/moto.log" 2>&1 || { skip moto "it cannot be installed ($cache/moto.log)"; return 1; }
}

moto() {
  local python=$cache/python/bin port
  port=$(free_port)
  "$python/moto_server" -H 127.0.0.1 -p "$port" >"$cache/moto-server.log" 2>&1 &
  server_pid=$!
  wait_for "$port" || { skip moto "it does not start ($cache/moto-server.log)"; stop; return; }
  export OBJECTS_ID=testing OBJECTS_SECRET=testing
  # It checks no signatures.
  make_bucket "http://127.0.0.1:$port/bucket" || { skip moto "no bucket can be made"; stop; return; }
  OBJECTS_LACKS="denied ${MOTO_LACKS-}" exercise moto s3 "http://127.0.0.1:$port" bucket
  tables moto "http://127.0.0.1:$port"
  killed moto "http://127.0.0.1:$port"
  stop
}

# get_go NAME PACKAGE: a server that Go builds.
get_go() {
  [ -x "$cache/bin/$1" ] && return
  command -v go >/dev/null || { skip "$1" "there is no Go to build it with"; return 1; }
  GOBIN=$cache/bin go install "$2@latest" >"$cache/$1.log" 2>&1 \
    || { skip "$1" "it cannot be built ($cache/$1.log)"; return 1; }
}

get_versitygw() { get_go versitygw github.com/versity/versitygw/cmd/versitygw; }

versitygw() {
  local program_path=$cache/bin/versitygw port data=$scratch/versitygw
  port=$(free_port)
  mkdir -p "$data"
  "$program_path" --access testing --secret testingtesting --port "127.0.0.1:$port" posix "$data" \
    >"$cache/versitygw-server.log" 2>&1 &
  server_pid=$!
  wait_for "$port" || { skip versitygw "it does not start ($cache/versitygw-server.log)"; stop; return; }
  export OBJECTS_ID=testing OBJECTS_SECRET=testingtesting
  make_bucket "http://127.0.0.1:$port/bucket" || { skip versitygw "no bucket can be made"; stop; return; }
  OBJECTS_LACKS=${VERSITYGW_LACKS-} exercise versitygw s3 "http://127.0.0.1:$port" bucket
  tables versitygw "http://127.0.0.1:$port"
  killed versitygw "http://127.0.0.1:$port"
  stop
}

get_azurite() {
  [ -x "$cache/node/node_modules/.bin/azurite-blob" ] && return
  command -v npm >/dev/null || { skip azurite "there is no npm"; return 1; }
  npm install --silent --no-audit --no-fund --prefix "$cache/node" azurite >"$cache/azurite.log" 2>&1 \
    || { skip azurite "it cannot be installed ($cache/azurite.log)"; return 1; }
}

azurite() {
  local program_path=$cache/node/node_modules/.bin/azurite-blob
  local port account=devstoreaccount1
  port=$(free_port)
  # The account that every such emulator has; its key is published.
  export OBJECTS_ID=$account
  export OBJECTS_SECRET=Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==
  "$program_path" --silent --inMemoryPersistence --skipApiVersionCheck --blobHost 127.0.0.1 --blobPort "$port" \
    >"$cache/azurite-server.log" 2>&1 &
  server_pid=$!
  wait_for "$port" || { skip azurite "it does not start ($cache/azurite-server.log)"; stop; return; }
  python3 "$here/make_container.py" "http://127.0.0.1:$port/$account" bucket \
    || { skip azurite "no container can be made"; stop; return; }
  OBJECTS_LACKS=${AZURITE_LACKS-} exercise azurite azure "http://127.0.0.1:$port/$account" bucket "$account"
  one_table azurite "type azure, key_id '$account', secret '$OBJECTS_SECRET', endpoint 'http://127.0.0.1:$port/$account'" \
    az://bucket/t
  stop
}

get_fake_gcs_server() { get_go fake-gcs-server github.com/fsouza/fake-gcs-server; }

fake_gcs_server() {
  local program_path=$cache/bin/fake-gcs-server port url
  port=$(free_port) url=http://127.0.0.1:$port
  "$program_path" -scheme http -host 127.0.0.1 -port "$port" -backend memory -log-level error \
    >"$cache/fake-gcs-server.log" 2>&1 &
  server_pid=$!
  wait_for "$port" || { skip fake-gcs-server "it does not start ($cache/fake-gcs-server.log)"; stop; return; }
  # It looks at no tokens, at no conditions where objects are joined, and counts no groups of names.
  export OBJECTS_ID=nobody OBJECTS_SECRET=token
  curl --silent --fail --output /dev/null -H "content-type: application/json" -d '{"name": "bucket"}' \
    "$url/storage/v1/b?project=test" || { skip fake-gcs-server "no bucket can be made"; stop; return; }
  OBJECTS_LACKS="denied parts-if-absent pages-of-groups ${FAKE_GCS_LACKS-}" exercise fake-gcs-server google "$url" bucket
  tables fake-gcs-server "$url" gs://bucket "type gcs, session_token '$OBJECTS_SECRET'"
  one_table fake-gcs-server "type gcs, session_token '$OBJECTS_SECRET', endpoint '$url'" gs://bucket/t
  stop
}

if $fetch; then
  for server in moto versitygw azurite fake-gcs-server; do
    "get_${server//-/_}"
  done
  exit 0
fi
$gate || [ -n "${OBJECTS_BUILT-}" ] || (cd "$root" && ${CARGO:-cargo} build --quiet -p objectstore --example exercise \
  && ${CARGO:-cargo} build --quiet -p cli) || exit 1
dovetail=${CARGO_TARGET_DIR:-$root/target}/debug/dovetail
program=${CARGO_TARGET_DIR:-$root/target}/debug/examples/exercise
[ -x "$program" ] || { echo "there is no $program"; exit 1; }
for server in moto versitygw azurite fake-gcs-server; do
  wanted "$server" && "get_${server//-/_}" && "${server//-/_}"
done
if $gate; then
  word=ok
  [ "$failed" -eq 0 ] || word=FAILED
  echo "test result: $word. $passed passed; $failed failed; $skipped ignored;"
  [ "$failed" -eq 0 ]
else
  echo "$passed servers passed, $failed failed, $skipped skipped"
  [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
fi

# The table at the end: client, version, checks, passed, failed, skipped. Sourced by run.sh.

rows=()
failed_total=0

# Counts the lines `ok ..`, `FAIL ..`, `skip ..` of a suite, and shows those that are not ok.
count_suite() {
  local name=$1 out=$2 err=$3 status=$4 passed failed skipped version
  passed=$(grep -c '^ok ' "$out")
  failed=$(grep -c '^FAIL ' "$out")
  skipped=$(grep -c '^skip ' "$out")
  version=$(sed -n 's/^version //p' "$out" | head -1)
  echo "== $name ${version:-}"
  grep -E '^(FAIL |skip |     )' "$out"
  if [ "$status" != 0 ] || [ $((passed + failed + skipped)) = 0 ]; then
    echo "FAIL $name: it ended with status $status"
    tail -20 "$err"
    failed=$((failed + 1))
  fi
  add_row "$name" "${version:--}" "$passed" "$failed" "$skipped"
}

skip_suite() {
  echo "== $1"
  echo "skip $1: $2"
  add_row "$1" - 0 0 1
}

fail_suite() {
  echo "FAIL $1: $2"
  add_row "$1" - 0 1 0
}

add_row() {
  rows+=("$1|$2|$(($3 + $4 + $5))|$3|$4|$5")
  failed_total=$((failed_total + $4))
}

print_table() {
  local row
  echo
  {
    echo "client|version|checks|passed|failed|skipped"
    for row in "${rows[@]}"; do echo "$row"; done
  } | awk -F'|' '{ printf "%-14s %-12s %7s %7s %7s %8s\n", $1, $2, $3, $4, $5, $6 }'
  [ "$failed_total" = 0 ]
}

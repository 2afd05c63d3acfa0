# The table at the end: client, version, checks, passed, failed, differing, skipped. Sourced by run.sh.

rows=()
passed_total=0
failed_total=0
left_total=0

# Counts the lines `ok ..`, `FAIL ..`, `skip ..`, `differs ..` of a suite, and shows those that are
# not ok.
count_suite() {
  local name=$1 out=$2 err=$3 status=$4 passed failed skipped differing version
  expected_differences "$name" "$out"
  passed=$(grep -c '^ok ' "$out")
  failed=$(grep -c '^FAIL ' "$out")
  skipped=$(grep -c '^skip ' "$out")
  differing=$(grep -c '^differs ' "$out")
  version=$(sed -n 's/^version //p' "$out" | head -1)
  echo "== $name ${version:-}"
  grep -E '^(FAIL |skip |differs |     )' "$out"
  if [ "$status" != 0 ] || [ $((passed + failed + skipped + differing)) = 0 ]; then
    echo "FAIL $name: it ended with status $status"
    tail -20 "$err"
    failed=$((failed + 1))
  fi
  add_row "$name" "${version:--}" "$passed" "$failed" "$differing" "$skipped"
}

# A check that differs.txt names may fail, for the reason that it says there; one that passes all the
# same fails, so that the list stays true.
expected_differences() {
  local name=$1 out=$2
  $postgres && return
  awk -v suite="$name" '
    NR == FNR {
      if ($0 !~ /^#/ && $1 == suite) {
        check = $2; sub(/:$/, "", check)
        reason = $0; sub(/^[^:]*: */, "", reason); known[check] = reason
      }
      next
    }
    { check = $2; sub(/:$/, "", check) }
    $1 == "FAIL" && check in known { print "differs " check ": " known[check]; next }
    $1 == "ok" && check in known { print "FAIL " check ": it passes: take it out of differs.txt"; next }
    { print }
  ' "$here/differs.txt" "$out" >"$out.judged" && mv "$out.judged" "$out"
}

skip_suite() {
  echo "== $1"
  echo "skip $1: $2"
  add_row "$1" - 0 0 0 1
}

fail_suite() {
  echo "FAIL $1: $2"
  add_row "$1" - 0 1 0 0
}

add_row() {
  rows+=("$1|$2|$(($3 + $4 + $5 + $6))|$3|$4|$5|$6")
  passed_total=$((passed_total + $3))
  failed_total=$((failed_total + $4))
  left_total=$((left_total + $5 + $6))
}

print_table() {
  local row
  echo
  {
    echo "client|version|checks|passed|failed|differing|skipped"
    for row in "${rows[@]}"; do echo "$row"; done
  } | awk -F'|' '{ printf "%-14s %-18s %7s %7s %7s %10s %8s\n", $1, $2, $3, $4, $5, $6, $7 }'
  [ "$failed_total" = 0 ]
}

# As cargo's test harness: what differs or was skipped counts as ignored.
print_counts() {
  local verdict=ok
  [ "$failed_total" = 0 ] || verdict=FAILED
  echo "test result: $verdict. $passed_total passed; $failed_total failed; $left_total ignored;"
}

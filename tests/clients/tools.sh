# What each suite needs. `tools_NAME` installs it under $cache and is false, with the reason in $why,
# where it cannot be had. Sourced by run.sh.

pgjdbc_version=42.7.7
pgjdbc_sha256=157963d60ae66d607e09466e8c0cdf8087e9cb20d0159899ffca96bca2528460
go_tpc_version=v1.0.12

have() { command -v "$1" >/dev/null || { why="$1 is not installed"; return 1; }; }

# One virtual environment for all Python clients.
python_tools() {
  have python3 || return
  local stamp=$cache/python/stamp
  cmp -s "$here/python/requirements.txt" "$stamp" && return
  python3 -m venv "$cache/python" 2>"$cache/python.err" &&
    "$cache/python/bin/pip" install --quiet --disable-pip-version-check --retries 1 --timeout 10 \
      -r "$here/python/requirements.txt" 2>"$cache/python.err" &&
    cp "$here/python/requirements.txt" "$stamp" && return
  why="pip: $(tail -1 "$cache/python.err")"
  return 1
}

tools_psycopg() { python_tools; }
tools_psycopg2() { python_tools; }
tools_asyncpg() { python_tools; }
tools_sqlalchemy() { python_tools; }
tools_alembic() { have psql && python_tools; }
tools_django() { python_tools; }
tools_introspection() { python_tools; }
tools_dump() { have pg_dump && have psql && python_tools; }
tools_psql() { have psql; }
tools_pg_isready() { have pg_isready; }
tools_pgbench() { have pgbench; }

# The packages of a directory below node/, in a directory of the cache.
node_tools() {
  have node && have npm || return
  local wanted=$here/node/$1 at=$cache/$2
  mkdir -p "$at"
  cmp -s "$wanted" "$at/stamp" && return
  cp "$wanted" "$at/package.json"
  (cd "$at" && npm install --silent --no-audit --no-fund) >"$at.err" 2>&1 &&
    cp "$wanted" "$at/stamp" && return
  why="npm: $(tail -1 "$at.err")"
  return 1
}

tools_node() { node_tools package.json node; }
tools_typeorm() { node_tools typeorm/package.json typeorm; }

tools_pgjdbc() {
  have javac && have java || return
  local jar=$cache/pgjdbc-$pgjdbc_version.jar
  local url=https://repo1.maven.org/maven2/org/postgresql/postgresql/$pgjdbc_version/postgresql-$pgjdbc_version.jar
  if [ ! -f "$jar" ]; then
    curl --fail --silent --show-error --location --max-time 120 -o "$jar.new" "$url" \
      2>"$cache/pgjdbc.err" || { why="the driver: $(tail -1 "$cache/pgjdbc.err")"; return 1; }
    mv "$jar.new" "$jar"
  fi
  echo "$pgjdbc_sha256  $jar" | sha256sum --check --quiet - ||
    { why="the driver is not the one that is expected"; rm "$jar"; return 1; }
  javac -d "$cache/java" -cp "$jar" "$here/java/PgjdbcTest.java" 2>"$cache/pgjdbc.err" ||
    { why="javac: $(head -1 "$cache/pgjdbc.err")"; return 1; }
}

tools_hibernate() {
  have javac && have java && have mvn || return
  local at=$cache/hibernate
  mkdir -p "$at"
  if ! cmp -s "$here/java/hibernate/pom.xml" "$at/stamp"; then
    rm -rf "$at/lib"
    mvn --quiet --batch-mode -f "$here/java/hibernate/pom.xml" dependency:copy-dependencies \
      "-DoutputDirectory=$at/lib" >"$at.err" 2>&1 ||
      { why="mvn: $(grep -m1 ERROR "$at.err")"; return 1; }
    cp "$here/java/hibernate/pom.xml" "$at/stamp"
  fi
  javac -nowarn -d "$at/classes" -cp "$at/lib/*" "$here"/java/hibernate/*.java 2>"$at.err" ||
    { why="javac: $(head -1 "$at.err")"; return 1; }
}

tools_go-tpc() {
  have go || return
  local binary=$cache/go/bin/go-tpc
  [ -x "$binary" ] && [ "$(cat "$cache/go/stamp")" = "$go_tpc_version" ] && return
  mkdir -p "$cache/go"
  GOBIN=$cache/go/bin go install "github.com/pingcap/go-tpc/cmd/go-tpc@$go_tpc_version" \
    2>"$cache/go.err" || { why="go: $(tail -1 "$cache/go.err")"; return 1; }
  echo "$go_tpc_version" >"$cache/go/stamp"
}

tools_rust() {
  have cargo || return
  cargo build --quiet --manifest-path "$here/rust/Cargo.toml" --target-dir "$cache/rust" \
    2>"$cache/rust.err" || { why="cargo: $(tail -1 "$cache/rust.err")"; return 1; }
}

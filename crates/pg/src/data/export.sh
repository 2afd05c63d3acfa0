#!/bin/sh
# Exports what is fixed in the system catalogs of PostgreSQL 15: relations with their columns, and the
# rows of tables about built-in types, operators and the like. Needs `psql` and a fresh cluster that the
# environment leads to (PGHOST, PGPORT, PGUSER); writes into the folder it stands in.
set -eu
cd "$(dirname "$0")"
run() { psql -X -q -A -t -v ON_ERROR_STOP=1 -d postgres "$@"; }

# Relations: "= schema name oid kind", then a line per column: "name type", "!" where never null.
run -F ' ' > relations.txt <<'SQL'
select case when a.attnum is null then format('= %s %s %s %s', n.nspname, c.relname, c.oid, c.relkind)
  else format('%s %s%s', a.attname, replace(format_type(a.atttypid, null), ' ', '_'),
              case when a.attnotnull then ' !' else '' end) end
from pg_class c join pg_namespace n on n.oid = c.relnamespace
cross join lateral (select null::int attnum, null::name attname, null::oid atttypid, null::bool attnotnull
  union all select attnum, attname, atttypid, attnotnull from pg_attribute
  where attrelid = c.oid and attnum > 0) a
where n.nspname in ('pg_catalog', 'information_schema') and c.relkind in ('r', 'v')
  and c.relname !~ '^_' and c.relname not in ('pg_hba_file_rules', 'pg_ident_file_mappings')
order by n.nspname desc, c.relname, a.attnum nulls first;
SQL

# The types that the engine has, those of the catalogs' own columns, and their arrays.
TYPES="select t.oid from pg_type t where t.typname in ('bool','bytea','char','name','int8','int2',
  'int2vector','int4','regproc','text','oid','xid','cid','tid','oidvector','pg_node_tree','float4','float8',
  'unknown','aclitem','bpchar','varchar','date','time','timestamp','timestamptz','interval','numeric',
  'regprocedure','regoper','regoperator','regclass','regtype','regrole','regnamespace','uuid','pg_lsn',
  'record','cstring','any','anyarray','void','anyelement','anynonarray','inet','xid8')
  or t.oid in (select a.typarray from pg_type a where a.typname in ('bool','bytea','char','name','int8',
  'int2','int4','text','oid','float4','float8','bpchar','varchar','date','time','timestamp','timestamptz',
  'interval','numeric','uuid','regclass','regtype','aclitem','oidvector','int2vector','regproc','inet'))"
# Types that only name what the engine has not: without their functions and operators.
FURTHER="typname in ('internal', 'pg_ndistinct', 'pg_dependencies', 'pg_mcv_list', 'pg_statistic',
  '_pg_statistic')"
# All columns of a relation; functions by their oids.
columns() {
  run -c "select string_agg(case when atttypid = 'regproc'::regtype then attname || '::oid' else attname end,
    ', ' order by attnum) from pg_attribute where attrelid = 'pg_catalog.$1'::regclass and attnum > 0"
}
table() { run -c "\\copy (select $(columns "$1") from pg_catalog.$1 where $2 order by 1) to '$1.tsv'"; }
table pg_am "amname in ('heap', 'btree')"
table pg_type "oid in ($(echo $TYPES)) or $FURTHER"
table pg_collation "collname in ('default', 'C', 'POSIX')"
table pg_language "lanname in ('internal', 'sql')"
table pg_opfamily "opfmethod = 403 and oid in (select opcfamily from pg_opclass where opcintype in ($(echo $TYPES)))"
table pg_opclass "opcmethod = 403 and opcintype in ($(echo $TYPES))"
table pg_operator "oprresult in ($(echo $TYPES)) and (oprleft = 0 or oprleft in ($(echo $TYPES))) and oprright in ($(echo $TYPES))"
table pg_cast "castsource in ($(echo $TYPES)) and casttarget in ($(echo $TYPES))"
table pg_tablespace "spcname = 'pg_default'"
run -c "\\copy (select $(columns pg_proc) from pg_catalog.pg_proc p where prorettype in ($(echo $TYPES)) and prokind in ('f','a','w') and not exists (select 1 from unnest(proargtypes::oid[]) x where x not in ($(echo $TYPES))) and proname !~ '^(pg_|binary_upgrade|RI_|int[248]|float|num|text|bttext|hash|bt|time|date|interval|bool|name|oid|char|byte|varchar|bpchar|cash|uuid|lseg|xid|tid|inet|network|gin|gist|spg|brin)' and proname !~ '(in|out|recv|send|sel|sel_support)\$' order by oid) to 'pg_proc.tsv'"

# The names of the functions that those rows name by their oids.
run -c "\\copy (select oid, proname from pg_proc p where exists (select 1 from pg_type t where (t.oid in ($(echo $TYPES)) or $FURTHER) and p.oid in (typinput, typoutput, typreceive, typsend, typmodin, typmodout, typsubscript)) or exists (select 1 from pg_operator o where p.oid = oprcode) order by 1) to 'procedures.tsv'"
run -c "\\copy (select * from pg_get_keywords() order by word) to 'pg_get_keywords.tsv'"

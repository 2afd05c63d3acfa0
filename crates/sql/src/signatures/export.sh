#!/bin/sh
# Exports the signatures by which PostgreSQL 15 chooses functions and operators. Needs `psql` and a
# cluster that the environment leads to (PGHOST, PGPORT, PGUSER); writes into the folder it stands in.
set -eu
cd "$(dirname "$0")"
run() { psql -X -q -A -t -F ' ' -v ON_ERROR_STOP=1 -d postgres "$@"; }

# The types that the engine has, those that stand for several, and those that only arrays are made of.
KNOWN="select t.oid from pg_type t where t.typname in ('bool','bytea','char','name','int8','int2','int4',
  'text','oid','xid','float4','float8','bpchar','varchar','date','time','timestamp','timestamptz',
  'interval','numeric','uuid','regclass','regtype','any','anyelement','anyarray','anynonarray',
  'anycompatible','anycompatiblearray','anycompatiblenonarray') or t.typelem in (select e.oid from pg_type e
  where t.oid = e.typarray and e.typname in ('bool','bytea','char','name','int8','int2','int4','text',
  'oid','float4','float8','bpchar','varchar','date','time','timestamp','timestamptz','interval',
  'numeric','uuid'))"

# Types: number, category, whether it is preferred, the type of its elements, name. Nothing becomes one of
# the vectors of the catalogs unasked: they are no arrays here.
run > types.txt <<SQL
select oid, typcategory, typispreferred, case when typcategory = 'A' and typname !~ 'vector' then typelem else 0 end,
  format_type(oid, null)
from pg_type where oid < 10000 and typtype in ('b', 'p', 'r', 'm') order by oid;
SQL

# Casts that are made unasked: from, to.
run -c "select castsource, casttarget from pg_cast where castcontext = 'i' order by 1, 2" > casts.txt

# Operators: name, left, right; 0 where there is no operand.
run > operators.txt <<SQL
select oprname, oprleft, oprright from pg_operator o where oid < 10000
  and oprname in (select oprname from pg_operator k where k.oprright in ($KNOWN)
    and (k.oprleft = 0 or k.oprleft in ($KNOWN)))
order by oprname collate "C", oprleft, oprright;
SQL

# Functions: name, result, the type of the variable argument, how many arguments have a default,
# arguments.
run > functions.txt <<SQL
select proname, prorettype, provariadic, pronargdefaults, proargtypes from pg_proc p
where oid < 10000 and pronamespace = 'pg_catalog'::regnamespace and prokind in ('f', 'a', 'w')
  and proname in (select k.proname from pg_proc k where k.oid < 10000
    and not exists (select from unnest(k.proargtypes) a where a not in ($KNOWN))
    and k.prorettype not in ('internal'::regtype, 'cstring'::regtype, 'trigger'::regtype))
  and proname !~ '^(pg_stat_|binary_upgrade|pg_logical|pg_replication|pg_wal|lo_|ts_|pg_lsn|RI_)'
order by proname collate "C", p.oid;
SQL

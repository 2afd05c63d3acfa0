-- version
select version();
-- database
select pg_catalog.current_database() as a, pg_catalog.current_schemas(true) as b;
-- date_style
show DateStyle;
-- databases
select N.oid::bigint as id,
       datname as name,
       D.description,
       datistemplate as is_template,
       datallowconn as allow_connections,
       pg_catalog.pg_get_userbyid(N.datdba) as "owner"
from pg_catalog.pg_database N
  left join pg_catalog.pg_shdescription D on N.oid = D.objoid
order by case when datname = pg_catalog.current_database() then -1::bigint else N.oid::bigint end;
-- schemas
select N.oid::bigint as id,
       N.xmin as state_number,
       nspname as name,
       D.description,
       pg_catalog.pg_get_userbyid(N.nspowner) as "owner"
from pg_catalog.pg_namespace N
  left join pg_catalog.pg_description D on N.oid = D.objoid
order by case when nspname = pg_catalog.current_schema() then -1::bigint else N.oid::bigint end;
-- transactions
select L.transactionid::varchar::bigint as transaction_id
from pg_catalog.pg_locks L
where L.transactionid is not null
order by pg_catalog.age(L.transactionid) desc
limit 1;
-- current_transaction
select case
  when pg_catalog.pg_is_in_recovery()
    then null
  else
    (pg_catalog.txid_current() % 4294967296)::varchar::bigint
  end as current_txid;
-- tables
select T.relkind as table_kind,
       T.relname as table_name,
       T.oid as table_id,
       T.xmin as table_state_number,
       false as table_with_oids,
       T.reltablespace as tablespace_id,
       T.reloptions as options,
       T.relpersistence as persistence,
       (select pg_catalog.array_agg(inhparent::bigint order by inhseqno)::varchar from pg_catalog.pg_inherits where T.oid = inhrelid) as ancestors,
       T.relispartition as is_partition,
       pg_catalog.pg_get_userbyid(T.relowner) as "owner"
from pg_catalog.pg_class T
where relnamespace = 2200::oid
  and T.relkind in ('r', 'm', 'v', 'f', 'p')
order by table_kind, table_id;
-- columns
select C.attrelid as object_id, C.attnum as column_position, C.attname as column_name, C.xmin as column_state_number, C.atttypmod as type_mod, C.attndims as dimensions_number,
  pg_catalog.format_type(C.atttypid, C.atttypmod) as type_spec, C.atttypid as type_id, C.attnotnull as mandatory, pg_catalog.pg_get_expr(D.adbin, D.adrelid) as column_default_expression, not C.attislocal as column_is_inherited, C.attidentity as identity_kind, C.attgenerated as generated, C.attcollation as collation_id
from pg_catalog.pg_attribute C
  left join pg_catalog.pg_attrdef D on (C.attrelid, C.attnum) = (D.adrelid, D.adnum)
  join pg_catalog.pg_class T on C.attrelid = T.oid and T.relnamespace = 2200::oid
where C.attnum > 0 order by 1, 2;

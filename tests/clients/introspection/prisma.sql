-- schemas
select namespace.nspname as namespace_name from pg_namespace as namespace;
-- tables
SELECT
  tbl.relname AS table_name,
  namespace.nspname as namespace,
  (tbl.relhassubclass and tbl.relkind = 'p') as is_partition,
  (tbl.relhassubclass and tbl.relkind = 'r') as has_subclass,
  tbl.relrowsecurity as has_row_level_security,
  reloptions,
  obj_description(tbl.oid, 'pg_class') as description
FROM pg_class AS tbl
INNER JOIN pg_namespace AS namespace ON namespace.oid = tbl.relnamespace
WHERE
  (
    tbl.relkind = 'r' AND tbl.relispartition = 'f'
      OR
    tbl.relkind = 'p'
  )
  AND namespace.nspname = ANY ( array['public'] )
ORDER BY namespace, table_name;
-- columns
SELECT
   oid.namespace,
   info.table_name,
   info.column_name,
   format_type(att.atttypid, att.atttypmod) as formatted_type,
   info.numeric_precision,
   info.numeric_scale,
   info.numeric_precision_radix,
   info.datetime_precision,
   info.data_type,
   info.udt_schema as type_schema_name,
   info.udt_name as full_data_type,
   pg_get_expr(attdef.adbin, attdef.adrelid) AS column_default,
   info.is_nullable,
   info.is_identity,
   info.character_maximum_length,
   col_description(att.attrelid, ordinal_position) AS description
FROM information_schema.columns info
JOIN pg_attribute att ON att.attname = info.column_name
JOIN (
    SELECT pg_class.oid, relname, pg_namespace.nspname as namespace
    FROM pg_class
    JOIN pg_namespace on pg_namespace.oid = pg_class.relnamespace
    AND pg_namespace.nspname = ANY ( array['public'] )
    WHERE reltype > 0
   ) as oid on oid.oid = att.attrelid 
     AND relname = info.table_name
     AND namespace = info.table_schema
LEFT JOIN pg_attrdef attdef ON attdef.adrelid = att.attrelid AND attdef.adnum = att.attnum AND table_schema = namespace
WHERE table_schema = ANY ( array['public'] )
ORDER BY namespace, table_name, ordinal_position;
-- foreign_keys
SELECT
    con.oid         AS "con_id",
    att2.attname    AS "child_column",
    cl.relname      AS "parent_table",
    att.attname     AS "parent_column",
    con.confdeltype,
    con.confupdtype,
    rel_ns.nspname  AS "referenced_schema_name",
    conname         AS constraint_name,
    child,
    parent,
    table_name,
    namespace,
    condeferrable,
    condeferred
FROM (SELECT 
            ns.nspname AS "namespace",
            unnest(con1.conkey)                AS "parent",
            unnest(con1.confkey)                AS "child",
            cl.relname                          AS table_name,
            ns.nspname                          AS schema_name,
            generate_subscripts(con1.conkey, 1) AS colidx,
            con1.oid,
            con1.confrelid,
            con1.conrelid,
            con1.conname,
            con1.confdeltype,
            con1.confupdtype,
            con1.condeferrable AS condeferrable,
            con1.condeferred AS condeferred
    FROM pg_class cl
            join pg_constraint con1 on con1.conrelid = cl.oid
            join pg_namespace ns on cl.relnamespace = ns.oid
    WHERE
        ns.nspname = ANY ( array['public'] )
        and con1.contype = 'f'
    ORDER BY colidx
    ) con
JOIN pg_attribute att on att.attrelid = con.confrelid and att.attnum = con.child
JOIN pg_class cl on cl.oid = con.confrelid
JOIN pg_attribute att2 on att2.attrelid = con.conrelid and att2.attnum = con.parent
JOIN pg_class rel_cl on con.confrelid = rel_cl.oid
JOIN pg_namespace rel_ns on rel_cl.relnamespace = rel_ns.oid
ORDER BY con_id, con.colidx;
-- server
SELECT EXISTS(SELECT 1 FROM pg_namespace WHERE nspname = 'public'), version(), current_setting('server_version_num')::integer as numeric_version;

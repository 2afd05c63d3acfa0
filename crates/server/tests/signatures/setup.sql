create table sig (b boolean, y bytea, i2 smallint, i4 integer primary key, i8 bigint, o oid, t text,
  f4 real, f8 double precision, vc varchar(10), bc char(3), d date, tm time, ts timestamp,
  tz timestamptz, iv interval, n numeric(12,2), u uuid, ai integer[], at text[]);
create table other (id integer primary key, name text, m numeric(10,2), small smallint, made timestamptz);

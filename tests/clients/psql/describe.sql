-- The \d family.
set client_min_messages = warning;
drop view if exists cheap;
drop table if exists sale;
drop table if exists item;
create table item (id int primary key, name varchar(30) not null, price numeric(10,2) default 1.50,
  made date, code char(4) unique, constraint price_is_positive check (price > 0));
create table sale (item_id int not null references item (id) on delete cascade, n bigint,
  at timestamp with time zone, note text default 'none', primary key (item_id, n));
create index sale_at on sale (at, note);
create view cheap as select id, name from item where price < 2;
\d
\d item
\d sale
\d cheap
\d sale_at
\dt
\dt it*
\dt public.*
\di
\dv
\d nothing_of_this_name
\dt nothing*
\dn
\d+ item
\d+ cheap
\dp item
\dt pg_catalog.pg_class
\sv cheap
drop view cheap;
drop table sale;
drop table item;

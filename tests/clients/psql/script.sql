-- Variables, formats and what psql does with results.
\set who 'O''Reilly'
select :'who' as who, :'who' || '!' as loud;
\set column id
select 1 as :"column";
select 7 as seven, 'x' as letter, null as nothing \gset got_
\echo :got_seven :got_letter :{?got_nothing}
\unset who
\echo :{?who}
select 1 as a, 'text'::text as b, 2.5::numeric(4,2) as c, current_date as d, '{1}'::int[] as e \gdesc
select 1 \g
select 'select ' || g || ' as made' from generate_series(1, 3) g \gexec
\if true
\echo yes
\else
\echo no
\endif
\pset null '(null)'
select null::int as n, 't'::boolean as t, ''::text as empty;
\pset null ''
\x on
select 1 as one, 'two' as "TWO";
\x off
\t on
select 1;
\t off
\a
\pset fieldsep ';'
select 1 as a, 'b;c' as b;
\a
\pset format csv
select 1 as a, 'x,y' as b, null as c;
\pset format html
select '<&>' as h;
\pset format aligned
\pset border 2
select 1 as a, 'b' as b;
\pset border 1
select g, g % 3 as m from generate_series(1, 6) g order by g \crosstabview m g
select 'Ärger' as "Spalte", '日本' as wide, E'two\nlines' as two;
select 1 as a; select 2 as b; select 3 as c;
select 1 as a \; select 2 as b;
\timing on
\timing off
values (1, 'one'), (2, 'two');
table (select 1 as x) t;
select * from (values (1), (2)) v(x) where x > 5;
show server_encoding;
select
  1 + -- a comment
  2 as sum;
/* a comment
   of two lines */
select $$dollar ' quoted$$ as d, $tag$with $$ in it$tag$ as t, E'a\tb' as e, U&'d\0061ta' as u;
\d

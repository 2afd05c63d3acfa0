-- \copy and COPY FROM STDIN in a script.
create table c (id int primary key, t text, n numeric(6,2));
copy c from stdin;
1	one	1.5
2	\N	\N
3	tab\tand\\slash	-2
\.
copy c (id, t) from stdin with (format csv);
4,"quoted, ""text"""
5,
6,""
\.
copy c from stdin with (format csv, header, delimiter ';', null 'none');
id;t;n
7;seven;7
8;none;none
\.
select id, t, t is null as t_null, n from c order by id;
copy c from stdin;
9	nine
\.
copy c from stdin;
9	nine	x
\.
copy c from stdin;
1	again	1
\.
select count(*) from c;
drop table c;
-- At the end: behind a COPY that is refused psql looks for data, from 15.20 on.
copy nowhere from stdin;

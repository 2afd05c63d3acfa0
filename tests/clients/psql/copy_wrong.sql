-- A COPY that is refused before its data; from psql 15.20 on such a script ends with it.
create temp table c (id int);
copy c (id, wrong) from stdin;

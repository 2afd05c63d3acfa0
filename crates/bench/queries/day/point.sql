-- One row by its key.
select o_orderkey, o_custkey, o_orderstatus, o_totalprice, o_orderdate, o_orderpriority
from orders
where o_orderkey = 29999975

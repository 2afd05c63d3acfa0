-- l_quantity < 0.2 * avg(l_quantity), without a division: 5 * count * l_quantity < sum.
select sum(l_extendedprice) as avg_yearly__num, 7.0 as avg_yearly__den
from lineitem, part
where p_partkey = l_partkey
    and p_brand = 'Brand#23'
    and p_container = 'MED BOX'
    and 5 * l_quantity * (select count(*) from lineitem where l_partkey = p_partkey)
        < (select sum(l_quantity) from lineitem where l_partkey = p_partkey)

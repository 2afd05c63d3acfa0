-- c_acctbal > avg(c_acctbal), without a division: count * c_acctbal > sum.
with chosen as (
    select substring(c_phone from 1 for 2) as cntrycode, c_custkey, c_acctbal
    from customer
    where substring(c_phone from 1 for 2) in ('13', '31', '23', '29', '30', '18', '17')
)
select cntrycode, count(*) as numcust, sum(c_acctbal) as totacctbal
from chosen
where c_acctbal * (select count(*) from chosen where c_acctbal > 0.00)
        > (select sum(c_acctbal) from chosen where c_acctbal > 0.00)
    and not exists (select * from orders where o_custkey = c_custkey)
group by cntrycode
order by cntrycode

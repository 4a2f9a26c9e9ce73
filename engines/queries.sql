select count(*) as n, count(value) as proven, sum(trials) as trials from points;
select op, count(*) as n, min(value) as low, max(value) as high, avg(value) as mean
from points group by op order by op;
select run, value, cast(control as double) as ratio from points where series = '{series}' order by run;
select contender, metric, avg(cast(control as double)) as ratio, count(*) as n
from points where outcome = 'PROVEN' and control is not null
group by contender, metric order by contender, metric;
select series, max(value) as slowest from points where op = 'matmul'
group by series order by slowest desc, series limit 10;
select count(distinct series) as series, count(distinct run) as runs,
min(commit_time) as earliest, max(commit_time) as latest from points

-- Resident columns: groups by parts of dates and times, by casts and arithmetic of integers, over the whole range of
-- values, compared with PostgreSQL's rows; and sums to whose values constants are added.
\ir setup.psql
CREATE EXTENSION IF NOT EXISTS gpusort;
SELECT no_plan();
CREATE SCHEMA columns_expressions;
SET search_path = columns_expressions, public;

-- every day of some centuries, and what lies far from them, to the first and last days that there are
CREATE TABLE days (id int, d date, ts timestamp);
INSERT INTO days SELECT g, date '1890-01-01' + g, timestamp '1890-01-01' + g * interval '1 day 00:00:00.7' + g % 7 * interval '3 hours 17 min' FROM generate_series(0, 80000) AS g;
INSERT INTO days SELECT g, date '4714-11-24 BC' + (g::bigint * 2147480000 / 20000)::int, timestamp '4713-01-01 BC' + (g * 5400 || ' days')::interval + (g * 1234567891 % 86400000000 || ' microseconds')::interval
	FROM generate_series(0::bigint, 20000) AS g;
INSERT INTO days SELECT g, NULL, timestamp '1690-01-01' + g * interval '13 hours' - interval '1 microsecond' FROM generate_series(0, 9000) AS g;
INSERT INTO days VALUES (1, '5874897-12-31', '294276-12-31 23:59:59.999999'), (2, '4714-11-24 BC', '4713-01-01 00:00 BC'), (3, NULL, NULL), (4, '0001-01-01', '0001-01-01'), (5, '0001-12-31 BC', '0001-12-31 23:59:59.999999 BC'),
	(6, '2000-02-29', '2000-02-29 12:00'), (7, '1900-02-28', '1900-03-01'), (8, '2000-01-01', '1999-12-31 23:59:59.999999');
-- timestamps of which date_trunc leaves the range, and infinity
CREATE TABLE first_days (ts timestamp, d date);
INSERT INTO first_days VALUES ('4714-11-24 10:00 BC', '2001-01-01'), ('2001-05-05', '2002-01-01');
CREATE TABLE infinite (d date, ts timestamp);
INSERT INTO infinite VALUES ('infinity', '2001-01-01'), ('2001-01-01', '-infinity'), ('2001-01-01', '2001-01-01');
CREATE TABLE numbers (id int, i2 int2, i4 int4, i8 int8, top int4);
INSERT INTO numbers SELECT g, nullif(g * 3 % 65536, 6) - 32768, (g::bigint * 1000003 % 4294967000 - 2147483000)::int, g::bigint * 1000000007 * 97, CASE WHEN g < 20000 THEN g % 5 ELSE 2147483647 END FROM generate_series(0, 20000) AS g;
CREATE TABLE parts (k int, ts timestamp) PARTITION BY RANGE (k);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (5000);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (5000) TO (10000);
INSERT INTO parts SELECT g, timestamp '2013-07-14' + g * interval '17.3 s' FROM generate_series(0, 9999) AS g;
VACUUM ANALYZE days, first_days, infinite, numbers, parts;
SELECT gpusort_columns_add(t::regclass) FROM unnest('{days,first_days,infinite,numbers,parts}'::text[]) AS t;

\ir columns_queries.psql
-- from columns or, because of values, from the plan below
CREATE FUNCTION same(query text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT is(rows_of(query, 'on'), rows_of(query, 'off'), query)
$$;

-- each unit over all days
SELECT answered(format('SELECT extract(%s FROM d), count(*), min(id), max(d) FROM days GROUP BY 1', unit)) FROM unnest('{year,month,day,doy,dow,epoch}'::text[]) AS unit;
SELECT answered(format('SELECT extract(%s FROM ts), count(*), min(id), max(ts) FROM days GROUP BY 1', unit)) FROM unnest('{year,month,day,doy,dow,hour,minute}'::text[]) AS unit;
SELECT answered('SELECT extract(epoch FROM ts), count(*), min(k) FROM parts GROUP BY 1');
SELECT answered(format('SELECT date_trunc(''%s'', ts), count(*), min(id) FROM days GROUP BY 1', unit)) FROM unnest('{year,month,day,hour,minute}'::text[]) AS unit;
SELECT answered(q) FROM unnest(ARRAY['SELECT ts::date, count(*), min(id) FROM days GROUP BY ts::date', 'SELECT d::timestamp, count(*) FROM first_days GROUP BY 1',
	'SELECT extract(year FROM d), extract(month FROM d), extract(day FROM d), extract(doy FROM d), extract(dow FROM d), count(*) FROM days GROUP BY 1, 2, 3, 4, 5',
	'SELECT extract(year FROM ts), extract(doy FROM ts), extract(hour FROM ts), extract(minute FROM ts), sum(id) FROM days GROUP BY 1, 2, 3, 4', 'SELECT extract(epoch FROM date_trunc(''hour'', ts)), count(*) FROM parts GROUP BY 1',
	'SELECT date_trunc(''day'', ts)::date, extract(dow FROM ts::date), count(*) FROM days GROUP BY 1, 2']) AS q;

-- around them: conditions, HAVING, orders with LIMIT, DISTINCT, expressions above, FILTER, other keys
SELECT answered(q) FROM unnest(ARRAY['SELECT date_trunc(''minute'', ts), count(*) FROM days WHERE id BETWEEN 1000 AND 30000 GROUP BY date_trunc(''minute'', ts) ORDER BY date_trunc(''minute'', ts) LIMIT 10 OFFSET 1000',
	'SELECT id % 7, m, n FROM (SELECT extract(minute FROM ts) AS m, count(*) AS n, max(id) AS id FROM days GROUP BY 1) q', 'SELECT extract(year FROM d) y, count(*) FROM days GROUP BY y HAVING count(*) > 365 AND max(d) < ''1990-01-01''',
	'SELECT extract(month FROM d) + 1, count(*) FROM days GROUP BY extract(month FROM d) ORDER BY count(*) DESC, 1 LIMIT 3', 'SELECT DISTINCT extract(dow FROM d) FROM days', 'SELECT DISTINCT date_trunc(''year'', ts) FROM days',
	'SELECT ts::date, d, count(*) FILTER (WHERE id > 5) FROM days GROUP BY d, ts::date', 'SELECT extract(year FROM d), d, count(*) FROM days WHERE id < 100 GROUP BY d, extract(year FROM d)',
	'SELECT date_trunc(''hour'', ts), extract(minute FROM ts), count(DISTINCT k) FROM parts GROUP BY 1, 2', 'SELECT date_trunc(''hour'', ts), extract(minute FROM ts), count(*), min(k) FROM parts GROUP BY 1, 2']) AS q;

-- integers
SELECT answered(q) FROM unnest(ARRAY['SELECT i2 + 1, count(*) FROM numbers WHERE i2 < 32767 GROUP BY 1', 'SELECT i4 - 300, count(*), min(id) FROM numbers GROUP BY 1', 'SELECT i8 * 2 - 5, count(*) FROM numbers GROUP BY 1',
	'SELECT (i2 * 3)::int8 + 7, count(*) FROM numbers GROUP BY 1', 'SELECT (i4::int8 - 2147483000 * 2::int8), count(*) FROM numbers GROUP BY 1', 'SELECT id::int2, count(*) FROM numbers GROUP BY 1', 'SELECT (id - 5)::int8::int4, count(*) FROM numbers GROUP BY 1',
	'SELECT i4, i4 - 1, i4 - 2, i4 - 3, count(*) AS c FROM numbers GROUP BY i4, i4 - 1, i4 - 2, i4 - 3 ORDER BY c DESC, i4 LIMIT 10', 'SELECT id, id + i2, count(*) FROM numbers GROUP BY id, i2, id + i2', 'SELECT id - i2, count(*) FROM numbers GROUP BY 1']) AS q;
SELECT throws_ok('SELECT top + 1, count(*) FROM numbers GROUP BY 1', '22003', NULL, 'a key out of range is an error');
SELECT throws_ok('SELECT top, top + 1, count(*) FROM numbers GROUP BY 1, 2 ORDER BY top LIMIT 1', '22003', NULL, 'and so is one that another key determines, in a group that LIMIT leaves out');
SELECT throws_ok('SELECT i8::int4, count(*) FROM numbers GROUP BY 1', '22003', NULL, 'a cast out of range is an error');
SELECT throws_ok('SELECT date_trunc(''year'', ts), count(*) FROM first_days GROUP BY 1', '22008', NULL, 'a year that begins before all timestamps is an error');
SELECT same(q) FROM unnest(ARRAY['SELECT top + 1, count(*) FROM numbers WHERE top < 5 GROUP BY 1', 'SELECT i8::int4, count(*) FROM numbers WHERE i8 < 1000 GROUP BY 1', 'SELECT date_trunc(''day'', ts), count(*) FROM first_days GROUP BY 1',
	'SELECT extract(year FROM d), count(*) FROM infinite GROUP BY 1', 'SELECT extract(epoch FROM ts), count(*) FROM infinite GROUP BY 1', 'SELECT date_trunc(''minute'', ts), count(*) FROM infinite GROUP BY 1', 'SELECT ts::date, count(*) FROM infinite GROUP BY 1',
	'SELECT d::timestamp, count(*) FROM infinite GROUP BY 1', 'SELECT extract(month FROM d), count(*) FROM infinite GROUP BY 1']) AS q;
-- what is left to PostgreSQL
SELECT same(q) FROM unnest(ARRAY['SELECT extract(epoch FROM ts), count(*), min(id), max(ts) FROM days GROUP BY 1', 'SELECT extract(year FROM d) y, count(*) FROM days GROUP BY y HAVING extract(year FROM d) BETWEEN 1950 AND 1960.5',
	'SELECT extract(second FROM ts), count(*) FROM days GROUP BY 1', 'SELECT date_trunc(''week'', ts), count(*) FROM days GROUP BY 1', 'SELECT i4 / 7, count(*) FROM numbers GROUP BY 1', 'SELECT d + 1, count(*) FROM first_days GROUP BY 1',
	'SELECT extract(year FROM ts) + i, count(*) FROM days, generate_series(1, 2) i GROUP BY 1', 'SELECT date_part(''minute'', ts), count(*) FROM days GROUP BY 1']) AS q;
-- beside windows that give no column, sorted arrays, and groups that are counted
SELECT answered(q) FROM unnest(ARRAY['SELECT h, h::date, count(*) FROM (SELECT date_trunc(''hour'', ts) AS h, row_number() OVER (ORDER BY k) AS n FROM parts) q GROUP BY h, h::date', 'SELECT i4 - 300, gpu_sort_agg(top) FROM numbers GROUP BY 1',
	'SELECT count(*) FROM (SELECT extract(year FROM d) FROM days GROUP BY 1) q', 'SELECT count(*) FROM (SELECT DISTINCT i4 - 300, top FROM numbers) q', 'SELECT count(*) FROM (SELECT date_trunc(''minute'', ts) FROM days GROUP BY 1 HAVING count(*) > 1) q']) AS q;
-- columns that windows give are not given to other steps; rows with them may come from columns
SELECT t FROM unnest(ARRAY['SELECT date_trunc(''day'', ts), cardinality(gpu_rle(k ORDER BY ts)) FROM parts GROUP BY 1',
	'SELECT id, id + 1, cardinality(gpu_rle(top ORDER BY i2)) FROM numbers GROUP BY 1, 2']) AS q, LATERAL (SELECT left_alone(q) UNION ALL SELECT same(q)) AS r (t);
SELECT t FROM unnest(ARRAY['SELECT date_trunc(''hour'', ts), max(n) FROM (SELECT ts, row_number() OVER (ORDER BY k) AS n FROM parts) q GROUP BY 1', 'SELECT n + 1, count(*) FROM (SELECT row_number() OVER (ORDER BY k) AS n FROM parts) q GROUP BY 1',
	'SELECT n, n + 1, count(*) FROM (SELECT row_number() OVER (ORDER BY k) AS n FROM parts) q GROUP BY n, n + 1', 'SELECT date_trunc(''hour'', ts), count(*) FROM (SELECT ts, row_number() OVER (ORDER BY k) AS n FROM parts) q WHERE n > 5 GROUP BY 1',
	'SELECT DISTINCT row_number() OVER (ORDER BY k) FROM parts', 'SELECT DISTINCT row_number() OVER (ORDER BY k) + 1 FROM parts']) AS q,
	LATERAL (SELECT matches(plan_of('EXPLAIN ' || q, 'force'), 'Aggregate.*GpuColumns.*Window Rows', 'above rows of windows: ' || q) UNION ALL SELECT same(q)) AS r (t);

-- sums to whose values constants are added: more of them than a question may have aggregates
SELECT answered('SELECT ' || string_agg(format('sum(i2 + %s)', n), ', ') || ' FROM numbers') FROM generate_series(-5, 84) AS n;
SELECT answered(q) FROM unnest(ARRAY['SELECT id % 3, s FROM (SELECT top AS id, sum(i2 + 2147450880) AS s FROM numbers GROUP BY top) q', 'SELECT sum(i2 + 7) FROM numbers WHERE id < 0', 'SELECT top, sum(i2 + 7), sum(i2), count(i2) FROM numbers GROUP BY top ORDER BY sum(i2 + 7) LIMIT 2',
	'SELECT top, sum(i2 + 1) FILTER (WHERE id > 100) FROM numbers GROUP BY top HAVING sum(i2 + 1) > -1000']) AS q;
SELECT throws_ok('SELECT sum(i2 + 2147483647) FROM numbers', '22003', NULL, 'a value out of range is an error');

-- CASE and coalesce: choices by conditions that may be NULL, without ELSE, of columns and constants of each type
CREATE TABLE questions (q text);
INSERT INTO questions SELECT format('SELECT %s AS k, count(*), min(id), max(id), sum(i2) FROM numbers GROUP BY 1', e) FROM unnest(ARRAY['CASE WHEN i2 > 0 THEN i2 ELSE 0 END', 'CASE WHEN i2 > 0 THEN i2 END',
	'CASE WHEN i2 IS NULL THEN -1 WHEN i2 < -100 AND top = 3 THEN top WHEN top BETWEEN 1 AND 2 THEN 7 ELSE 9 END', 'CASE WHEN i2 < i4 THEN i8 WHEN top IN (1, 4, NULL) THEN i4 ELSE i2 END',
	'CASE WHEN top > NULL THEN 1 WHEN i2 = 3 THEN NULL ELSE top END', 'CASE WHEN top = 1 THEN NULL WHEN top = 2 THEN 3 END', 'CASE WHEN i4 < 0 THEN -9223372036854775808 ELSE i8 END',
	'CASE WHEN top = 1 THEN 2147483647 WHEN top = 2 THEN 9223372036854775807 ELSE -1 END', 'CASE WHEN i8 > 9223372036854775806 THEN 1 ELSE 2 END', 'coalesce(i2, 0)', 'coalesce(i2, i4)', 'coalesce(i2, -32768)', 'coalesce(i2::int8, top, 5)']) AS e;
INSERT INTO questions SELECT format('SELECT %s AS k, count(*), min(id) FROM days GROUP BY 1', e) FROM unnest(ARRAY['CASE WHEN id < 100 THEN d ELSE date ''2000-01-01'' END', 'CASE WHEN d > ''2000-01-01'' THEN ts END', 'CASE WHEN ts < ''1950-01-01'' THEN ts ELSE ''infinity'' END', 'coalesce(d, ''-infinity'')',
	'CASE WHEN ts < ''1900-01-01'' THEN ''1900-01-01 BC''::timestamp WHEN id = 7 THEN NULL ELSE ts END']) AS e;
-- other keys, computed ones, orders with LIMIT, DISTINCT, conditions, HAVING, FILTER, keys that others determine, expressions above, groups that are counted, partitions
INSERT INTO questions VALUES ('SELECT top, CASE WHEN i2 < 0 THEN top ELSE -5 END AS k, coalesce(i2, 3), i4 - 300, count(*) FROM numbers GROUP BY 1, 2, 3, 4'), ('SELECT CASE WHEN i2 < 0 THEN id ELSE -5 END AS k, count(*) AS c FROM numbers WHERE i4 > 0 GROUP BY 1 ORDER BY c DESC, k LIMIT 5 OFFSET 3'),
	('SELECT CASE WHEN i2 < 0 THEN id ELSE -5 END AS k, count(*) AS c FROM numbers GROUP BY 1 ORDER BY k DESC LIMIT 5'), ('SELECT DISTINCT CASE WHEN i2 < 0 THEN top END FROM numbers'), ('SELECT DISTINCT coalesce(i2, 0), top FROM numbers'),
	('SELECT CASE WHEN i2 < 0 THEN top ELSE -5 END AS k, count(*) FILTER (WHERE id > 100) FROM numbers GROUP BY 1 HAVING count(*) > 3 AND max(i2) < 32000'),
	('SELECT top, CASE WHEN top < 2 THEN top ELSE 1 END + 1, CASE WHEN top < 2 THEN top ELSE 1 END, count(*) FROM numbers GROUP BY 1, 3'), ('SELECT CASE WHEN i2 < 0 THEN 2 ELSE 1 END * 3, count(DISTINCT i4), max(i8) FROM numbers GROUP BY CASE WHEN i2 < 0 THEN 2 ELSE 1 END'),
	('SELECT count(*) FROM (SELECT coalesce(i2, 0), top FROM numbers GROUP BY 1, 2) q'), ('SELECT coalesce(extract(year FROM d), 0), count(*) FROM days GROUP BY extract(year FROM d)'), ('SELECT CASE WHEN id < 0 THEN 1 ELSE i4 END, count(*) FROM numbers WHERE id < 0 GROUP BY 1'),
	('SELECT CASE WHEN k < 4990 THEN k WHEN k > 5010 THEN -7 ELSE 0 END, count(*) FROM parts GROUP BY 1'), ('SELECT CASE WHEN ts < ''2013-07-14 12:00'' THEN k ELSE 0 END, date_trunc(''hour'', ts), count(*) FROM parts GROUP BY 1, 2');
SELECT answered(q) FROM questions;
-- what is left: OR, a CASE of a value, other types and results, and values that would be computed for rows that do not come to them
SELECT left_alone(format('SELECT %s AS k, count(*) FROM numbers GROUP BY 1', e)) FROM unnest(ARRAY['CASE WHEN top = 1 OR i2 = 2 THEN 7 ELSE top END', 'coalesce(nullif(i2, 1), 2)', 'CASE top WHEN 1 THEN 5 ELSE i2 END', 'CASE WHEN top = 1 THEN i2 + 1 ELSE 0 END',
	'CASE WHEN top = 1 THEN 1.5 ELSE top END', 'CASE WHEN top = 1 THEN true ELSE false END', 'CASE WHEN random() < 0 THEN 1 ELSE top END', 'CASE WHEN top < 0 THEN 1 / (SELECT 0) ELSE top END', 'CASE WHEN top = 77 AND i2 > 1 / (SELECT 0) THEN 1 ELSE top END',
	'CASE WHEN top = 1 THEN 1 ' || (SELECT string_agg('WHEN i4 = ' || g || ' THEN ' || g, ' ') FROM generate_series(1, 16) AS g) || ' END']) AS e;
-- parameters
CREATE FUNCTION choose(beyond int, other int) RETURNS SETOF text LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
BEGIN
	RETURN QUERY SELECT format('%s %s %s', CASE WHEN i2 > beyond THEN other ELSE top END, count(*), min(id)) FROM numbers GROUP BY CASE WHEN i2 > beyond THEN other ELSE top END;
END $$;
SELECT is(rows_of(q, 'force'), rows_of(q, 'off'), q) FROM (SELECT format('SELECT * FROM choose(%s)', a) FROM unnest('{"5, -1","NULL, 3","-100, NULL"}'::text[]) AS a) AS v (q);

-- pages that have changed come from the table
UPDATE days SET ts = ts + interval '1 minute' WHERE id % 5000 = 0;
SELECT answered('SELECT extract(minute FROM ts), extract(year FROM d), count(*) FROM days GROUP BY 1, 2');
UPDATE numbers SET i2 = NULL, top = 77 WHERE id % 3001 = 0;
INSERT INTO numbers SELECT 30000 + g, g, g, g, g FROM generate_series(1, 3) AS g;
SELECT answered(q) FROM questions;
SELECT finish();
DROP SCHEMA columns_expressions CASCADE;

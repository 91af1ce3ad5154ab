-- Dates, times and intervals.
\ir setup.psql
SELECT plan(7 * 14 + 1);

SELECT pg_temp.check_type('date', '{-infinity,infinity,4713-11-24 BC,5874897-12-31,2000-01-01,1999-12-31}',
						  $$date '2000-01-01' + hashint4(i) % 100000$$);
SELECT pg_temp.check_type('time', '{00:00,24:00,23:59:59.999999,00:00:00.000001,12:00}',
						  $$time '00:00' + (hashint4(i) % 86400) * interval '1 second'$$);
SELECT pg_temp.check_type('timestamp', '{-infinity,infinity,4713-11-24 00:00:00 BC,294276-12-31 23:59:59.999999,2000-01-01,1999-12-31 23:59:59.999999}',
						  $$timestamp '2000-01-01' + hashint4(i) * interval '1.234567 s'$$);
SELECT pg_temp.check_type('timestamptz', '{-infinity,infinity,4713-11-24 00:00:00+00 BC,294276-12-31 23:59:59.999999+00,2000-01-01 00:00+00,1999-12-31 22:00-02}',
						  $$timestamptz '2000-01-01' + hashint4(i) * interval '1.234567 s'$$);
SELECT pg_temp.check_type('timetz', '{00:00+00,00:00+15:59,24:00-15:59,12:00+00,13:00+01,11:00-01,12:00:00.000001+00,23:59:59.999999-12:30:15}',
						  $$(time '00:00' + (i % 86400) * interval '1 s')::time AT TIME ZONE make_interval(mins => i % 1400 - 700)$$);
SELECT pg_temp.check_type('interval', '{0,1 month,30 days,720 hours,29 days 24 hours,-1 month,-30 days,1 year,360 days,365 days,0.000001 s,-0.000001 s,
	1 mon -30 days,1 day -24:00:00}',
						  $$hashint4(i) * interval '1.234567 s'$$);

-- spans beyond 64 bits of microseconds, and zones that no clock has
SELECT pg_temp.check_type('interval', '{178000000 years,-178000000 years,178000000 years 1 us,2147483647 days,-2147483648 days,2562047788 hours,
	-2562047788 hours,2147483647 months 2147483647 days 2562047788 hours,1 month,30 days}',
						  $$make_interval(years => hashint4(i) / 16, days => i)$$);
CREATE TEMP TABLE z AS
	SELECT i::integer AS id, (timetz '12:00+00' AT TIME ZONE make_interval(secs => hashint4(i) / 3)) AS k FROM generate_series(1, 3000) AS i;
SELECT pg_temp.same_ids('SELECT id FROM z ORDER BY k', 'SELECT id FROM z ORDER BY k, ctid', 'zones of any size');

SELECT * FROM finish();

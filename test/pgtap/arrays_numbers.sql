-- Array functions over numbers, dates and times.
\ir arrays.psql
SELECT plan(18 * 26);

SELECT pg_temp.check_arrays('boolean', '{t,f}', 'i * 31 % 5 < 2');
SELECT pg_temp.check_arrays('"char"', '{a,b,z,0,~}', 'chr(33 + i * 31 % 90)::"char"');
SELECT pg_temp.check_arrays('smallint', '{0,1,-1,32767,-32768}', 'hashint4(i) % 300');
SELECT pg_temp.check_arrays('integer', '{0,1,-1,2147483647,-2147483648}', 'hashint4(i) % 300');
SELECT pg_temp.check_arrays('bigint', '{0,1,-1,9223372036854775807,-9223372036854775808}', 'hashint8(i)::bigint * (i % 3) * 1000');
SELECT pg_temp.check_arrays('real', '{0,-0,1,-1,NaN,Infinity,-Infinity,1e-45,3.4e38}', 'hashint4(i) % 300 / 7.0');
SELECT pg_temp.check_arrays('double precision', '{0,-0,1,-1,NaN,Infinity,-Infinity,5e-324,1.7e308}', 'hashint4(i) % 300 / 7.0');
SELECT pg_temp.check_arrays('numeric', '{0,0.0,1,1.0,1.00,-1,NaN,Infinity,-Infinity,1e-300,1e300,12345678901234567890.123}',
							'round(hashint4(i) % 100 / 7.0, i % 5)');
SELECT pg_temp.check_arrays('oid', '{0,1,4294967295}', '(hashint4(i) & 255)::oid');
SELECT pg_temp.check_arrays('money', '{0,1.01,-1,92233720368547758.07,-92233720368547758.08}', '(hashint4(i) % 300)::money');
SELECT pg_temp.check_arrays('date', '{2000-01-01,infinity,-infinity,4713-01-01 BC,9999-12-31}', 'date ''2020-01-01'' + hashint4(i) % 300');
SELECT pg_temp.check_arrays('time', '{00:00,24:00,12:34:56.789}', 'time ''00:00'' + i * 31 % 300 * interval ''1 minute''');
SELECT pg_temp.check_arrays('timetz', '{00:00+00,24:00+15,12:00+01,13:00+02,11:00+00}', '(time ''00:00'' + i * 31 % 90 * interval ''1 minute'')::timetz');
SELECT pg_temp.check_arrays('timestamp', '{2000-01-01,infinity,-infinity}', 'timestamp ''2020-01-01'' + hashint4(i) % 300 * interval ''1 hour''');
SELECT pg_temp.check_arrays('timestamptz', '{2000-01-01,infinity,-infinity}', 'timestamptz ''2020-01-01'' + hashint4(i) % 300 * interval ''1 hour''');
SELECT pg_temp.check_arrays('interval', '{0,1 day,24:00,1 mon,30 days,720:00,-1 day,178000000 years,-178000000 years}',
							'hashint4(i) % 300 * interval ''1 hour''');
SELECT pg_temp.check_arrays('pg_lsn', '{0/0,FFFFFFFF/FFFFFFFF,1/0}', '''0/0''::pg_lsn + (hashint4(i) & 255)');
SELECT pg_temp.check_arrays('xid8', '{0,1,18446744073709551615}', '(hashint4(i) & 255)::text::xid8');

SELECT * FROM finish();

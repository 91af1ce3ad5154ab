-- numeric: values that fit an integer of one scale, and all others.
\ir setup.psql
SELECT plan(6 * 14 + 9);

SELECT pg_temp.check_type('numeric(12,2)', '{0,0.01,-0.01,9999999999.99,-9999999999.99,1,10,100,1000,10000,0.10}',
						  '(hashint4(i)::numeric / 100)::numeric(12,2)');
SELECT pg_temp.check_type('numeric', '{0,0.0,-0.000,1,1.0,1.00,1.000000000,-1,-1.0,0.1,0.10,0.0001,0.00001,10000,10000.0001,99999999}',
						  'hashint4(i)::numeric / 10 ^ (i % 5)');
SELECT pg_temp.check_type('numeric', '{NaN,Infinity,-Infinity,0,1,-1,1e1000,-1e1000,1e-1000,-1e-1000,1e131071,-1e131071,1e-16383,
	-1e-16383,9223372036854775807,9223372036854775808,-9223372036854775808,-9223372036854775809,170141183460469231731687303715884105727,
	170141183460469231731687303715884105728,-170141183460469231731687303715884105729}',
						  'hashint8extended(i, 0)::numeric * 10.0 ^ (i % 40 - 20)');
SELECT pg_temp.check_type('numeric', '{922.9999,921.9999,9.22,9.23,9999999999999999,10000000000000000,9229999999999999999,
	9220000000000000000,0.9999999999999999,0.99999999999999999999}',
						  'hashint8extended(i, 0)::numeric');
SELECT pg_temp.check_type('numeric', '{169.5,170.5,0.1,0.12,0.123,0.1234,0.12345,0.123456,0.1234567,0.12345678}',
						  'round(hashint8extended(i, 0)::numeric / 1000000000000, i % 9)');
SELECT pg_temp.check_type('numeric(38,10)', '{9999999999999999999999999999.9999999999,-9999999999999999999999999999.9999999999,0}',
						  'hashint8extended(i, 0)::numeric * 123456789 / 10000000000');

-- each step of the guess in turn, from whole numbers to everything
CREATE TEMP TABLE n (id serial, k numeric);
INSERT INTO n (k) SELECT i * 7919 % 1009 FROM generate_series(1, 3000) AS i;
SELECT pg_temp.same_ids('SELECT id FROM n ORDER BY k', 'SELECT id FROM n ORDER BY k, ctid', 'whole numbers');
INSERT INTO n (k) SELECT (i * 7919 % 1009)::numeric / 10 FROM generate_series(1, 100) AS i;
SELECT pg_temp.same_ids('SELECT id FROM n ORDER BY k', 'SELECT id FROM n ORDER BY k, ctid', 'then tenths');
INSERT INTO n (k) SELECT (i * 7919 % 1009)::numeric / 1000 FROM generate_series(1, 100) AS i;
SELECT pg_temp.same_ids('SELECT id FROM n ORDER BY k', 'SELECT id FROM n ORDER BY k, ctid', 'then thousandths');
INSERT INTO n (k) SELECT (i * 7919 % 1009)::numeric / 1000000000 FROM generate_series(1, 100) AS i;
SELECT pg_temp.same_ids('SELECT id FROM n ORDER BY k', 'SELECT id FROM n ORDER BY k, ctid', 'then billionths');
INSERT INTO n (k) SELECT (i * 7919 % 1009)::numeric * 1000000000 FROM generate_series(1, 100) AS i;
SELECT pg_temp.same_ids('SELECT id FROM n ORDER BY k', 'SELECT id FROM n ORDER BY k, ctid', 'then billions');
INSERT INTO n (k) SELECT (i * 7919 % 1009)::numeric * 1e25 FROM generate_series(1, 100) AS i;
SELECT pg_temp.same_ids('SELECT id FROM n ORDER BY k', 'SELECT id FROM n ORDER BY k, ctid', 'then what takes 128 bits');
INSERT INTO n (k) VALUES ('Infinity'), (1e-300), ('NaN');
SELECT pg_temp.same_ids('SELECT id FROM n ORDER BY k', 'SELECT id FROM n ORDER BY k, ctid', 'then anything');

-- digits shown are the row's own; a number of 100,000 digits is compressed or elsewhere
INSERT INTO n (k) VALUES (5e5), (500000.0), (500000.00);
SELECT set_eq('SELECT k::text FROM n WHERE k = 500000 ORDER BY k', ARRAY['500000', '500000.0', '500000.00'], 'digits shown stay');
INSERT INTO n (k) SELECT repeat(translate(md5(i::text), 'abcdef', '123456'), 3000)::numeric / (10 ^ (i % 3))::numeric
	FROM generate_series(1, 10) AS i;
SELECT pg_temp.same_ids('SELECT id FROM n ORDER BY k DESC', 'SELECT id FROM n ORDER BY k DESC, ctid', 'very long numbers');

SELECT * FROM finish();

-- Whole numbers and what is stored as such.
\ir setup.psql
SELECT plan(10 * 14);

SELECT pg_temp.check_type('boolean', '{t,f}', 'i % 3 = 0');
SELECT pg_temp.check_type('"char"', ARRAY['', 'a', 'b', 'Z', ' ', '~'], '(i % 256 - 128)::"char"');
SELECT pg_temp.check_type('smallint', '{-32768,32767,0,1,-1}', '(i * 7919 % 65536 - 32768)::smallint');
SELECT pg_temp.check_type('integer', '{-2147483648,2147483647,0,1,-1}', 'hashint4(i)');
SELECT pg_temp.check_type('bigint', '{-9223372036854775808,9223372036854775807,0,1,-1,4294967296,-4294967297}',
						  'hashint8extended(i, 0)');
SELECT pg_temp.check_type('oid', '{0,1,2147483647,2147483648,4294967295}', '(hashint4(i)::bigint & 4294967295)::oid');
SELECT pg_temp.check_type('money', '{-92233720368547758.08,92233720368547758.07,0,0.01,-0.01}',
						  '(hashint4(i) % 100000)::numeric::money');
SELECT pg_temp.check_type('pg_lsn', '{0/0,0/1,FFFFFFFF/FFFFFFFF,7FFFFFFF/FFFFFFFF,80000000/0}',
						  $$'0/0'::pg_lsn + (hashint8extended(i, 0)::numeric + 9223372036854775808)$$);
SELECT pg_temp.check_type('xid8', '{0,1,18446744073709551615,9223372036854775807,9223372036854775808}',
						  '(hashint8extended(i, 0)::numeric + 9223372036854775808)::text::xid8');
SELECT pg_temp.check_type('tid', '{"(0,0)","(0,1)","(4294967295,65535)","(4294967294,65535)","(1,0)","(65536,0)"}',
						  $$format('(%s,%s)', i * 31 % 1000, i % 200)::tid$$);

SELECT * FROM finish();

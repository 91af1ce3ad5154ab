-- Floating point: all NaNs are equal and above infinity, minus zero equals zero.
\ir setup.psql
SELECT plan(2 * 14 + 2);

SELECT pg_temp.check_type('real', '{NaN,-NaN,Infinity,-Infinity,0,-0,1e-45,-1e-45,1.17549435e-38,3.4028235e38,-3.4028235e38,1,-1}',
						  'hashint4(i)::real / 1000');
SELECT pg_temp.check_type('double precision',
						  '{NaN,-NaN,Infinity,-Infinity,0,-0,5e-324,-5e-324,2.2250738585072014e-308,1.7976931348623157e308,
						    -1.7976931348623157e308,1,-1}',
						  'hashint8extended(i, 0)::double precision * 10.0 ^ (i % 300 - 150)');

-- NaNs with other bits than the usual ones; minus zero and zero in one group, shown as they are
CREATE TEMP TABLE f (id serial, k double precision);
INSERT INTO f (k) VALUES ('NaN'), (-'NaN'::float8), ('Infinity'::float8 - 'Infinity'), ('Infinity'), ('-0'), ('0'), ('-0');
SELECT pg_temp.same_ids('SELECT id FROM f ORDER BY k, id DESC', 'SELECT id FROM f ORDER BY k, id DESC', 'NaNs are equal');
SELECT results_eq('SELECT f.k::text FROM f ORDER BY f.k', ARRAY['-0', '0', '-0', 'Infinity', 'NaN', 'NaN', 'NaN'],
	'zeros keep their sign and their order');

SELECT * FROM finish();

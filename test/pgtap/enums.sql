-- Enums: as created, with values added in between, and changed while a sort is running.
\ir setup.psql
SELECT plan(3 * 14 + 4);

CREATE TYPE pg_temp.mood AS ENUM ('sad', 'ok', 'happy');
SELECT pg_temp.check_type('pg_temp.mood', '{happy,sad,ok}', $$(ARRAY['ok', 'happy', 'sad'])[i * 31 % 3 + 1]::pg_temp.mood$$);

ALTER TYPE pg_temp.mood ADD VALUE 'desperate' BEFORE 'sad';
ALTER TYPE pg_temp.mood ADD VALUE 'fair' AFTER 'ok';
ALTER TYPE pg_temp.mood ADD VALUE 'ecstatic';
ALTER TYPE pg_temp.mood ADD VALUE 'good' BEFORE 'happy';
SELECT pg_temp.check_type('pg_temp.mood', '{happy,sad,ok,desperate,fair,ecstatic,good}',
						  $$(enum_range(NULL::pg_temp.mood))[i * 31 % 7 + 1]$$);

-- more values than are read at first, some of them added later
SELECT 'CREATE TYPE pg_temp.grade AS ENUM (' || string_agg(quote_literal('g' || i), ', ' ORDER BY i) || ')' FROM generate_series(1, 150) AS i \gexec
ALTER TYPE pg_temp.grade ADD VALUE 'g0' BEFORE 'g1';
ALTER TYPE pg_temp.grade ADD VALUE 'g77a' AFTER 'g77';
ALTER TYPE pg_temp.grade ADD VALUE 'g9a' AFTER 'g9';
SELECT pg_temp.check_type('pg_temp.grade', '{g150,g0,g77a,g77,g78,g9,g9a,g10}', $$(enum_range(NULL::pg_temp.grade))[i * 31 % 153 + 1]$$);

-- even values for a while, so that the first guess is wrong late
CREATE TEMP TABLE late (id serial, k pg_temp.mood);
INSERT INTO late (k) SELECT CASE WHEN i % 2 = 0 THEN 'sad' ELSE 'ok' END::pg_temp.mood FROM generate_series(1, 3000) AS i;
INSERT INTO late (k) VALUES ('desperate'), ('fair'), ('sad');
SELECT pg_temp.same_ids('SELECT id FROM late ORDER BY k', 'SELECT id FROM late ORDER BY k, ctid', 'an odd value comes late');

SELECT matches(pg_temp.plan_of('SELECT k FROM late ORDER BY k DESC NULLS LAST'), 'Custom Scan \(GpuSort\)', 'enums are sorted by gpusort');

-- Another session adds values while rows are being sorted; after enough of them in one gap the server numbers all values anew.
SELECT EXISTS (SELECT FROM pg_available_extensions WHERE name = 'dblink') AS have_dblink \gset
\if :have_dblink
CREATE EXTENSION IF NOT EXISTS dblink;
CREATE FUNCTION pg_temp.elsewhere(command text) RETURNS text LANGUAGE sql AS $$
	SELECT dblink_exec(format('host=%s port=%s dbname=%s user=%s', split_part(current_setting('unix_socket_directories'), ',', 1),
							  current_setting('port'), current_database(), current_user), command)
$$;
CREATE FUNCTION pg_temp.added(type text, i integer, step integer) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	IF i % step = 0 THEN
		PERFORM pg_temp.elsewhere(format('ALTER TYPE %I ADD VALUE %L BEFORE %L', type, 'v' || i, 'last'));
	END IF;
	RETURN CASE i % 3 WHEN 0 THEN 'first' WHEN 1 THEN 'last' ELSE 'v' || greatest(i / step - i % 7, 0) * step END;
END $$;
-- A digest of the order, so that types whose values have other OIDs can be compared.
CREATE FUNCTION pg_temp.grow(type text, enabled boolean, rows integer, step integer) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	PERFORM set_config('gpusort.enabled', enabled::text, false);
	PERFORM pg_temp.elsewhere(format($type$CREATE TYPE %I AS ENUM ('first', 'v0', 'last')$type$, type));
	EXECUTE format('SELECT md5(string_agg(k::text || i, '','')) FROM (
		SELECT i, pg_temp.added(%L, i, %s)::%I AS k FROM generate_series(1, %s) AS i ORDER BY k, i) AS s', type, step, type, rows) INTO result;
	PERFORM set_config('gpusort.enabled', 'on', false);
	PERFORM pg_temp.elsewhere(format('DROP TYPE %I', type));
	RETURN result;
END $$;
SELECT is(pg_temp.grow('gpusort_growing_1', true, 5000, 100), pg_temp.grow('gpusort_growing_2', false, 5000, 100), 'a type that grows while its values are sorted');
SET gpusort.work_mem = '1MB';
SELECT is(pg_temp.grow('gpusort_growing_3', true, 60000, 1200), pg_temp.grow('gpusort_growing_4', false, 60000, 1200), 'and again, in little memory');
DROP EXTENSION dblink;
\else
SELECT skip('no dblink', 2);
\endif

SELECT * FROM finish();

"""clients.py DRIVER HOST PORT OUTPUT: what a driver of Python reads, with gpusort's output on or off.

Prints a line for each way of each query: how many rows came, or which error, and a hash of them.  Without a driver of
that name nothing is printed.
"""
import asyncio
import hashlib
import importlib
import io
import sys

driver, host, port, output = sys.argv[1:]
settings = f'-c gpusort.output={output}'
tables = ['integers_', 'numerics', 'floats', 'times', 'texts', 'toasted', 'others', 'changed', 'wide']
queries = [f'SELECT * FROM {table} ORDER BY id' for table in tables] + ['SELECT * FROM many', 'SELECT * FROM latin']
failing = "SELECT i, 1 / (900 - i), repeat('x', i) FROM generate_series(1, 1000) i ORDER BY i"


def tell(name, rows):
    """Prints what came."""
    digest = hashlib.sha256()
    for row in rows:
        if isinstance(row, tuple):
            row = [bytes(value) if isinstance(value, memoryview) else value for value in row]
        digest.update(repr(row).encode('utf-8', 'backslashreplace'))
    print(f'{name}: {len(rows)} rows, {digest.hexdigest()}')


def raw(result):
    """A result of libpq as bytes, which no driver's types limit."""
    return [[result.get_value(i, j) for j in range(result.nfields)] for i in range(result.ntuples)]


def with_psycopg(psycopg):
    """Text, binary, a named cursor, rows one by one, pipelines, COPY."""
    with psycopg.connect(host=host, port=port, user='postgres', dbname='postgres', options=settings) as connection:
        notices = []
        connection.add_notice_handler(lambda notice: notices.append(notice.message_primary))
        # first, because the driver does not know a pipeline behind single rows
        with connection.pipeline():
            cursors = [connection.execute(query) for query in (queries[0], queries[1], 'SELECT 1')]
            tell('pipeline', [row for cursor in cursors for row in cursor])
        for query in queries:
            for binary in False, True:
                try:
                    cursor = connection.execute(query, binary=binary)
                    tell(f'{query}, binary {binary}', raw(cursor.pgresult))
                except psycopg.Error as error:
                    tell(f'{query}, {error}', [])
                    connection.rollback()
            with connection.cursor() as cursor, cursor.copy(f'COPY ({query}) TO STDOUT') as copy:
                tell(f'{query}, COPY', [bytes(line) for line in copy])
        for query in queries[0], queries[1], queries[-2]:
            with connection.cursor('named') as cursor:
                cursor.itersize = 7
                cursor.execute(query)
                tell(f'{query}, cursor', list(cursor))
            with connection.cursor() as cursor:
                tell(f'{query}, single rows', list(cursor.stream(query)))
        tell('loud', connection.execute('SELECT * FROM loud_values WHERE id < 700 ORDER BY id').fetchall() + notices)
        rows = []
        try:
            with connection.cursor() as cursor:
                for row in cursor.stream(failing):
                    rows.append(row)
        except psycopg.Error as error:
            rows.append(str(error))
        tell('failing', rows)


def with_psycopg2(psycopg2):
    """Text, a named cursor, COPY."""
    connection = psycopg2.connect(host=host, port=port, user='postgres', dbname='postgres', options=settings)
    for query in queries:
        cursor = connection.cursor()
        try:
            cursor.execute(query)
            tell(query, cursor.fetchall())
        except Exception as error:
            tell(f'{query}, {error}', [])
            connection.rollback()
        text = io.StringIO()
        connection.cursor().copy_expert(f'COPY ({query}) TO STDOUT', text)
        tell(f'{query}, COPY', text.getvalue().split('\n'))
    cursor = connection.cursor('named')
    cursor.itersize = 7
    cursor.execute(queries[1])
    tell('cursor', list(cursor))
    connection.rollback()
    try:
        connection.cursor().execute(failing)
    except psycopg2.Error as error:
        tell('failing', [str(error)])
    connection.close()


async def with_asyncpg(asyncpg):
    """Binary, by prepared statements: whole, by a cursor, COPY."""
    connection = await asyncpg.connect(host=host, port=int(port), user='postgres', database='postgres',
                                       server_settings={'gpusort.output': output})
    for query in queries:
        try:
            statement = await connection.prepare(query)
            for _ in range(2):
                tell(query, [tuple(row) for row in await statement.fetch()])
            async with connection.transaction():
                tell(f'{query}, cursor', [tuple(row) async for row in connection.cursor(query, prefetch=7)])
        except Exception as error:
            tell(f'{query}, {error}', [])
        stream = io.BytesIO()
        await connection.copy_from_query(query, output=stream)
        tell(f'{query}, COPY', [stream.getvalue()])
    try:
        await connection.fetch(failing)
    except asyncpg.PostgresError as error:
        tell('failing', [str(error)])
    await connection.close()


try:
    module = importlib.import_module(driver)
except ModuleNotFoundError:
    sys.exit(0)
if driver == 'asyncpg':
    asyncio.run(with_asyncpg(module))
elif driver == 'psycopg2':
    with_psycopg2(module)
else:
    with_psycopg(module)

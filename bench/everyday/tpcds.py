"""tpcds.py: the queries of TPC-DS as everyday.pl reads them, from DuckDB's extension tpcds (PyPI:
duckdb-extension-tpcds), with PostgreSQL's dialect throughout.  "order" has the leading columns of ORDER BY that are
columns of the result; "ties" is there where a LIMIT may cut through rows with equal keys."""
import pathlib
import re

import duckdb
import duckdb_extension_tpcds


def outside_parentheses(text):
    """A text with all that is in parentheses or quotes replaced by #, at the same places."""
    depth = 0
    result = ''
    for char in re.sub(r"'[^']*'", lambda found: '#' * len(found.group()), text):
        depth -= char == ')'
        result += '#' if depth > 0 else char
        depth += char == '('
    return result


def sort_items(query):
    """The expressions of a query's outermost ORDER BY."""
    bare = outside_parentheses(query)
    found = re.search(r'\bORDER BY\s((?:(?!\bORDER BY\b).)*?)(\bLIMIT\s+\d+\s*)?\Z', bare, re.S | re.I)
    if not found:
        return []
    items = []
    start = found.start(1)
    for part in found.group(1).split(','):
        item = query[start:start + len(part)]
        items.append(re.sub(r'\s+(ASC|DESC)?\s*(NULLS (FIRST|LAST))?\s*\Z', '', item, flags=re.I).strip())
        start += len(part) + 1
    return items


def order(query, columns):
    """The leading columns of the result that the query is ordered by."""
    result = []
    for item in sort_items(query):
        name = columns[int(item) - 1] if item.isdigit() else item.split('.')[-1].lower()
        # DuckDB numbers columns of one name, of which PostgreSQL tells none apart, and names expressions by their text
        if not name.isidentifier() or name not in columns or f'{name}_1' in columns or name in result:
            break
        result.append(name)
    return result


def main():
    extension = next(pathlib.Path(duckdb_extension_tpcds.__file__).parent.glob('extensions/*/tpcds.duckdb_extension'))
    db = duckdb.connect()
    db.execute(f"LOAD '{extension}'")
    db.execute('CALL dsdgen(sf = 0)')
    print('-- group: TPC-DS')
    for number, text in db.execute('SELECT query_nr, query FROM tpcds_queries() ORDER BY 1').fetchall():
        query = text.strip().rstrip(';').strip()
        columns = [row[0].lower() for row in db.execute(f'DESCRIBE {query}').fetchall()]
        print(f'\n-- name: Q{number}')
        keys = order(query, columns)
        if keys:
            print('-- order: ' + ', '.join(keys))
        if re.search(r'\bLIMIT\s+\d+\Z', query, re.I):
            print('-- ties: any')
        print(query + ';')


main()

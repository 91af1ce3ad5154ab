#!/bin/bash
# entry.sh CLICKBENCH [URL [TAG]]: makes the directories of entry/ in a clone of ClickBench's repository, with what they
# share with its "postgresql".  URL is where gpusort is cloned from, default what META.json says; TAG is the release,
# default that of gpusort.control.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
clickbench=${1:?CLICKBENCH}
url=${2:-$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["resources"]["repository"]["url"])' \
	"$root/META.json")}
tag=${3:-v$(sed -n "s/^default_version = '\(.*\)'/\1/p" "$root/gpusort.control")}

[ -n "$url" ] || { echo "META.json names no repository yet: entry.sh CLICKBENCH URL" >&2; exit 1; }
for entry in gpusort gpusort-columns; do
	mkdir -p "$clickbench/$entry"
	cp "$root/bench/clickbench/entry/$entry"/* "$clickbench/$entry/"
	for file in check create.sql data-size queries.sql query start stop; do
		cp "$clickbench/postgresql/$file" "$clickbench/$entry/"
	done
	sed -i "s|@URL@|$url|; s|@TAG@|$tag|" "$clickbench/$entry/install"
done

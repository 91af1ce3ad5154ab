#!/bin/bash
# dist.sh: the zip that PGXN takes, in build/dist, of what git knows of the tree.  META.json is looked at first
# (meta.py).
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
python3 packaging/meta.py META.json
version=$(sed -n 's/^default_version = .\([0-9.]*\).*/\1/p' gpusort.control)
name=gpusort-$version
mkdir -p build/dist
rm -f "build/dist/$name.zip"
git archive --format=zip --prefix="$name/" --output="build/dist/$name.zip" HEAD
if [ -n "$(git status --porcelain)" ]; then echo "Changes that are not committed are not in it." >&2; fi
echo "build/dist/$name.zip"

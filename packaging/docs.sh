#!/bin/bash
# docs.sh: the documentation as a site, in build/site.  Takes mkdocs-material, from PyPI into build/venv if PATH has no
# mkdocs.  A link that leads nowhere, to a page, a heading or a file of the tree, is an error.
set -eu
cd "$(dirname "$0")/.."
python3 packaging/docs.py . build/docs
if ! command -v mkdocs >/dev/null; then
	if [ ! -x build/venv/bin/mkdocs ]; then
		python3 -m venv build/venv
		build/venv/bin/pip install -q mkdocs-material==9.8.1
	fi
	PATH=$PWD/build/venv/bin:$PATH
fi
# --quiet would keep --strict from seeing warnings
NO_MKDOCS_2_WARNING=1 mkdocs build --strict -f packaging/mkdocs.yml >build/docs.log 2>&1 ||
	{ grep -v '^INFO' build/docs.log >&2; exit 1; }
echo "build/site/index.html"

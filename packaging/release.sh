#!/bin/bash
# release.sh TAG [PACKAGE]...: what a release has, in build/release: the sources as tarball and as PGXN's zip, the
# Debian packages that are named, and checksums of all.  It is made of HEAD, which has to be what TAG, v and a version,
# says: gpusort.control, META.json and the top of CHANGELOG.md are of that version, and it has a date there.
set -eu
cd "$(dirname "$0")/.."
tag=${1:?TAG}
shift
version=${tag#v}
die() { echo "$*" >&2; exit 1; }

[ "v$version" = "$tag" ] || die "A release's tag is v and its version; \"$tag\" is not."
grep -q "^default_version = '$version'" gpusort.control || die "gpusort.control is not of version $version."
python3 packaging/meta.py META.json || die "META.json is not whole."
heading=$(grep -m 1 '^## ' CHANGELOG.md)
[[ $heading =~ ^"## $version ("[0-9]{4}-[0-9]{2}-[0-9]{2}")"$ ]] ||
	die "CHANGELOG.md begins with \"$heading\", and not with \"## $version (DATE)\"."
[ -z "$(git status --porcelain --untracked-files=no)" ] || die "There are changes that are not committed."

out=build/release
rm -rf "$out"
mkdir -p "$out"
# no time of the day in it: whoever makes it anew gets the very bytes
git archive --format=tar --prefix="gpusort-$version/" HEAD | gzip -n9 >"$out/gpusort-$version.tar.gz"
packaging/dist.sh
cp "build/dist/gpusort-$version.zip" "$out/"
if [ $# -gt 0 ]; then cp "$@" "$out/"; fi
(cd "$out" && sha256sum -- * >SHA256SUMS)
# the text of the release: what the CHANGELOG says of this version, its links those of the tag's tree
web=$(python3 -c 'import json; print(json.load(open("META.json"))["resources"]["repository"]["web"].rstrip("/"))')
awk '/^## / { n++ } n == 1 && !/^## /' CHANGELOG.md |
	sed "s#](\([^):]*\))#](${web:+$web/blob/$tag/}\1)#g" >build/release-notes.md
ls "$out"

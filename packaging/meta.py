#!/usr/bin/env python3
"""meta.py META.json: does it follow PGXN's Meta Spec 1.0.0, and does it agree with gpusort.control?

Errors end with exit status 1.  Addresses that nobody has set yet are no error, but are named: whoever publishes gpusort sets them.
"""
import json
import os
import re
import sys

VERSION = re.compile(r'^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$')
TERM = re.compile(r'^[^\s/\\\x00-\x1f]{2,}$')
ADDRESS = re.compile(r'^(https?|git|ssh)://\S+$')
LICENSES = ('agpl_3 apache_1_1 apache_2_0 artistic_1 artistic_2 bsd freebsd gfdl_1_2 gfdl_1_3 gpl_1 gpl_2 gpl_3 lgpl_2_1 lgpl_3_0 mit '
            'mozilla_1_0 mozilla_1_1 openssl perl_5 postgresql qpl_1_0 ssleay sun zlib open_source restricted unrestricted unknown').split()
KNOWN = ('abstract description generated_by license maintainer meta-spec name no_index prereqs provides release_status resources tags '
         'version').split()
errors = []
unset = []


def check(good, what):
    if not good:
        errors.append(what)


def is_text(value):
    return isinstance(value, str) and value != ''


def check_version(value, where):
    check(isinstance(value, str) and VERSION.match(value), f'{where} is no semantic version')


def check_provides(meta, folder):
    provides = meta.get('provides')
    check(isinstance(provides, dict) and provides, 'provides names no extension')
    for name, entry in (provides if isinstance(provides, dict) else {}).items():
        check(TERM.match(name), f'provides: {name} is no term')
        check(is_text(entry.get('file')), f'provides.{name} lacks its file')
        check_version(entry.get('version'), f'provides.{name}.version')
        for key in ('file', 'docfile'):
            if key in entry:
                check(os.path.exists(os.path.join(folder, entry[key])), f'provides.{name}.{key}: there is no {entry[key]}')


def check_prereqs(meta):
    for phase, relations in meta.get('prereqs', {}).items():
        check(phase in ('configure', 'build', 'test', 'runtime', 'develop'), f'prereqs.{phase} is no phase')
        for relation, packages in relations.items():
            check(relation in ('requires', 'recommends', 'suggests', 'conflicts'), f'prereqs.{phase}.{relation} is no relation')
            for name, wanted in packages.items():
                for part in str(wanted).split(','):
                    check_version(re.sub(r'^\s*(==|!=|<=?|>=?)?\s*', '', part) if part != '0' else '0.0.0',
                                  f'prereqs.{phase}.{relation}.{name}')


def check_address(value, where):
    if value == '':
        unset.append(where)
    else:
        check(isinstance(value, str) and ADDRESS.match(value), f'{where} is no address')


def check_resources(meta):
    for name, value in meta.get('resources', {}).items():
        if name == 'homepage':
            check_address(value, 'resources.homepage')
        elif name == 'bugtracker':
            check(set(value) <= {'web', 'mailto'} and value, 'resources.bugtracker has other keys than web and mailto')
            check_address(value.get('web', ''), 'resources.bugtracker.web')
            if value.get('mailto', '') == '':
                unset.append('resources.bugtracker.mailto')
        elif name == 'repository':
            check(set(value) <= {'url', 'web', 'type'}, 'resources.repository has other keys than url, web and type')
            check_address(value.get('url', ''), 'resources.repository.url')
            check_address(value.get('web', ''), 'resources.repository.web')
            check('type' not in value or re.match(r'^[a-z]+$', value['type']), 'resources.repository.type is not in lower case')
        else:
            check(name.startswith('x_'), f'resources.{name} is not known')


def check_control(meta, folder):
    with open(os.path.join(folder, 'gpusort.control'), encoding='utf-8') as file:
        version = re.search(r"^default_version = '([^']*)'", file.read(), re.M).group(1)
    check(meta.get('version') == version, f'version is not that of gpusort.control, {version}')
    check(meta.get('provides', {}).get('gpusort', {}).get('version') == version, f'provides.gpusort.version is not {version}')


def main():
    folder = os.path.dirname(os.path.abspath(sys.argv[1]))
    with open(sys.argv[1], encoding='utf-8') as file:
        meta = json.load(file)
    check(is_text(meta.get('name')) and TERM.match(meta['name']), 'name is no term')
    check(is_text(meta.get('abstract')), 'abstract is missing')
    check_version(meta.get('version'), 'version')
    maintainers = meta.get('maintainer')
    maintainers = maintainers if isinstance(maintainers, list) else [maintainers]
    check(maintainers and all(is_text(one) for one in maintainers), 'maintainer is missing')
    licenses = meta.get('license')
    if isinstance(licenses, dict):
        check(licenses and all(ADDRESS.match(link) for link in licenses.values()), 'license: the values are no addresses')
    else:
        for one in licenses if isinstance(licenses, list) else [licenses]:
            check(one in LICENSES, f'license {one} is not known')
    spec = meta.get('meta-spec', {})
    check_version(spec.get('version'), 'meta-spec.version')
    if 'url' in spec:
        check(re.match(r'^https?://pgxn\.org/meta/spec\.txt$', spec['url']), 'meta-spec.url is not that of the specification')
    check(meta.get('release_status', 'stable') in ('stable', 'testing', 'unstable'), 'release_status is not known')
    check(all(is_text(tag) and len(tag) <= 255 and not re.search(r'[/\\\x00-\x1f]', tag) for tag in meta.get('tags', [])), 'tags')
    for key in meta:
        check(key in KNOWN or key.lower().startswith('x_'), f'{key} is not known')
    check_provides(meta, folder)
    check_prereqs(meta)
    check_resources(meta)
    check_control(meta, folder)
    for what in errors:
        print(f'{sys.argv[1]}: {what}', file=sys.stderr)
    if unset:
        print(f'{sys.argv[1]}: not set yet, by whoever publishes gpusort: {", ".join(unset)}', file=sys.stderr)
    sys.exit(1 if errors else 0)


main()

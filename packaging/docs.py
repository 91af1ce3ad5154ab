#!/usr/bin/env python3
"""docs.py TREE TARGET: the pages of the site, of README.md, CHANGELOG.md, CONTRIBUTING.md and doc/, with its images.

Links between pages stay links.  Results of benchmarks, the licence and META.json are in the site.  Links to other
files of the tree go to the repository that META.json names; where it names none the text stays without a link, and the
file has to be there either way.  A picture in light and in dark becomes two, of which the theme shows one.
"""
import json
import os
import re
import shutil
import sys

PICTURE = re.compile(r'<picture>\s*<source [^>]*srcset="([^"]+)">\s*<img src="([^"]+)" alt="([^"]+)">\s*</picture>')
IMAGES = 'doc/images'
RESULTS = 'bench/results'
FILES = {'LICENSE': 'license.txt', 'META.json': 'META.json'}
LINK = re.compile(r'(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)\s]+)\)')
tree, target = sys.argv[1:]
broken = []


def repository():
    with open(os.path.join(tree, 'META.json'), encoding='utf-8') as file:
        return json.load(file)['resources']['repository']['web'].rstrip('/')


def pages():
    found = {'README.md': 'index.md', 'CHANGELOG.md': 'changelog.md', 'CONTRIBUTING.md': 'contributing.md', **FILES}
    for name in sorted(os.listdir(os.path.join(tree, 'doc'))):
        if name.endswith('.md'):
            found['doc/' + name] = name
    for name in os.listdir(os.path.join(tree, IMAGES)):
        found[os.path.join(IMAGES, name)] = 'images/' + name
    found[RESULTS] = 'results/index.md'
    for name in os.listdir(os.path.join(tree, RESULTS)):
        found[os.path.join(RESULTS, name)] = 'results/' + name
    return found


def list_of_results(target):
    """A page with links to all results, of which a browser shows the text of most."""
    names = sorted(os.listdir(os.path.join(target, 'results')))
    with open(os.path.join(target, 'results/index.md'), 'w', encoding='utf-8') as file:
        file.write('# Results of benchmarks\n\nRaw output, which [benchmarks](../benchmarks.md) and other pages name.\n\n')
        file.write(''.join(f'* [{name}]({name})\n' for name in names))


def convert(text, source, known, web):
    def link(match):
        mark, words, where = match.groups()
        if re.match(r'[a-z]+:|#', where):
            return match.group(0)
        path, _, anchor = where.partition('#')
        path = os.path.normpath(os.path.join(os.path.dirname(source), path))
        if path in known:
            return f'{mark}[{words}]({known[path]}{"#" + anchor if anchor else ""})'
        if not os.path.exists(os.path.join(tree, path)):
            broken.append(f'{source}: there is no {path}')
        return f'{mark}[{words}]({web}/blob/HEAD/{path})' if web else words
    text = PICTURE.sub(r'![\3](\2#only-light)\n![\3](\1#only-dark)', text)
    # blocks of code are not looked at
    parts = re.split(r'(^```.*?^```$)', text, flags=re.M | re.S)
    return ''.join(part if part.startswith('```') else LINK.sub(link, part) for part in parts)


known = pages()
shutil.rmtree(target, ignore_errors=True)
shutil.copytree(os.path.join(tree, IMAGES), os.path.join(target, 'images'))
shutil.copytree(os.path.join(tree, RESULTS), os.path.join(target, 'results'))
list_of_results(target)
for source, name in FILES.items():
    shutil.copy(os.path.join(tree, source), os.path.join(target, name))
for name in ('site.css', 'site.js'):
    shutil.copy(os.path.join(tree, 'packaging/site', name), target)
for source, name in known.items():
    if not source.endswith('.md'):
        continue
    with open(os.path.join(tree, source), encoding='utf-8') as file:
        text = convert(file.read(), source, known, repository())
    with open(os.path.join(target, name), 'w', encoding='utf-8') as file:
        file.write(text)
for what in broken:
    print(what, file=sys.stderr)
sys.exit(1 if broken else 0)

#!/usr/bin/env python3
"""Measure builds and loads: participants, memory, its accounting, spills.

usage: build_parallel.py [--section NAME]... [OPTION]...    (--help)

For the server that PGHOST, PGPORT, PGUSER and PGDATABASE name, which has snii
preloaded and at least two worker processes to spare; run it on the server's
machine, as its user or as root. test/bench/build makes such a server, and two
more builds of the library. Tables bench_* are made and dropped. Arms take
turns, every figure is the median of several runs. The run ends with PREMISE
FAILED and a status that is not 0 when something does not hold that the
figures rest on: no worker was launched, counters are not 0 afterwards, a
temporary file is left, answers differ.

Sections, each of less than 20 minutes on two processors:
    speed    one participant, two, and GIN; a profile of what is below 1.7
    memory   growth of private memory since just before CREATE INDEX
    price    the accounting left out, in steps, and at every change
    loads    COPY of log rows with and without base64 and of few terms; batches
             into a table with ten indexes; a table of 419 columns with
             indexes over 96; COPY in 100 MB and once in 1 GB
    spills   16 builds and loads at once with next to no memory; a cancel and
             a kill -9
"""
import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import build_loads
import build_price
import build_spills
from build_common import (MB, PARALLEL, TEXTS, Holder, Premise, Session, Watch,
                          build, check_clean, corpora, drop, load, median,
                          participants, postmaster, psql)


# --- speed ----------------------------------------------------------------

def gin(corpus, mem):
    """Seconds of a build of GIN over the same text."""
    psql('CHECKPOINT')
    s = Session(dict(PARALLEL, maintenance_work_mem=mem))
    start = time.monotonic()
    s.run(f"CREATE INDEX bench_build_g ON bench_build_{corpus} USING"
          " gin (to_tsvector('simple', body))")
    seconds = time.monotonic() - start
    s.run('DROP INDEX bench_build_g')
    s.end()
    return seconds


def one_speed(args, corpus):
    """Runs of the three arms, which take turns."""
    one, two, other = [], [], []
    for _ in range(args.runs):
        for n, runs in ((1, one), (2, two)):
            r = build(corpus, participants(n, maintenance_work_mem=args.mem))
            if r['workers_launched'] != n - 1:
                raise Premise(f'{corpus}: {r["workers_launched"]:.0f} workers'
                              f' were launched, not {n - 1}')
            runs.append(r)
        if not args.no_gin:
            other.append(gin(corpus, args.mem))
    return one, two, other


def speed(args):
    print('## Participants\n\n`maintenance_work_mem` %s, medians of %d; '
          'aims: 1.7 times as fast as one, 18 times as fast as GIN.'
          ' "others": processors that others kept busy meanwhile.\n\n'
          '| corpus | MB | one, s | two, s | times | CPU of one, s |'
          ' of the busier of two | of both | runs | others |'
          ' GIN s | GIN / two |  |'
          % (args.mem, args.runs))
    print('| --- ' + '| --: ' * 11 + '| --- |')
    slow = []
    for corpus in args.corpus:
        size = load(corpus, args)
        one, two, other = one_speed(args, corpus)
        s1, s2 = median(one, 'seconds'), median(two, 'seconds')
        g = median(other) if other else float('nan')
        missed = [x for x, bad in (('1.7', s1 / s2 < 1.7),
                                   ('18', g / s2 < 18)) if bad]
        print('| %s | %.0f | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f | %.0f |'
              ' %.2f | %.1f | %.1f | %s |' % (
                  corpus, size / 1e6, s1, s2, s1 / s2,
                  median(one, 'cpu_ms') / 1e3, median(two, 'cpu_max_ms') / 1e3,
                  median(two, 'cpu_ms') / 1e3, median(two, 'runs'),
                  median(two, 'others'), g, g / s2,
                  'missed: ' + ', '.join(missed) if missed else ''),
              flush=True)
        if '1.7' in missed and not args.smoke:
            slow.append((corpus, profile(args, corpus)))
        drop(corpus, args)
    check_clean('speed')
    for corpus, text in slow:
        print(f'\n### Profile of {corpus}\n\n{text}')


# --- profile --------------------------------------------------------------

def perf_build(args, corpus, n, folder):
    """{(process, symbol): samples} of a build of n participants, sampled
    1000 times a second of processor time."""
    path = os.path.join(folder, 'perf.data')
    s = Session(participants(n, maintenance_work_mem=args.mem))
    p = subprocess.Popen(['perf', 'record', '-q', '-a', '-e', 'cpu-clock',
                          '-F', '1000', '-o', path, '--', 'sleep', '600'],
                         stderr=subprocess.DEVNULL)
    time.sleep(0.5)
    watch = Watch()
    watch.begin(s.pid)
    s.run(f'CREATE INDEX bench_build_i ON bench_build_{corpus}'
          ' USING snii (body); DROP INDEX bench_build_i')
    watch.end()
    p.terminate()
    p.wait()
    workers = watch.workers()
    out = subprocess.run(
        ['perf', 'script', '-i', path, '-F', 'comm,pid,ip,sym', '--comm',
         'postgres'], capture_output=True, text=True).stdout
    counts = {}
    pid = 0
    for line in out.splitlines():
        m = re.match(r'\s*postgres\s+(\d+)\s+[0-9a-f]+\s+(.*)$', line)
        if not m:
            continue
        pid, symbol = int(m.group(1)), m.group(2).strip() or '?'
        if pid != s.pid and pid not in workers:
            continue
        who = 'leader' if pid == s.pid else 'worker'
        counts[who, symbol] = counts.get((who, symbol), 0) + 1
    s.end()
    os.unlink(path)
    return counts


def profile(args, corpus):
    """Where the time of a build by two goes, beside one by one process."""
    if not shutil.which('perf'):
        return 'perf is not installed.'
    folder = tempfile.mkdtemp()
    one = perf_build(args, corpus, 1, folder)
    two = perf_build(args, corpus, 2, folder)
    os.rmdir(folder)
    if not one or not two:
        return 'perf has no samples (it must run as root).'

    def of(counts, symbol, who=None):
        return sum(n for (w, s), n in counts.items()
                   if s == symbol and who in (None, w))

    symbols = {s for _, s in list(one) + list(two)}
    rows = sorted(symbols, key=lambda s: -of(two, s))[:20]
    lines = ['ms of processor time by function (a process asleep has none):',
             '', '| function | one | leader of two | its worker |'
             ' more than one |', '| --- | --: | --: | --: | --: |']
    rows.append(None)
    for s in rows:
        a, b, c = ((of(one, s), of(two, s, 'leader'), of(two, s, 'worker'))
                   if s else (sum(one.values()), *(
                       sum(n for (w, _), n in two.items() if w == who)
                       for who in ('leader', 'worker'))))
        lines.append('| %s | %d | %d | %d | %d |' % (s or 'all', a, b, c,
                                                     b + c - a))
    return '\n'.join(lines)


# --- memory ---------------------------------------------------------------

def memory(args):
    print('## Growth of private memory\n\nPrivate_Dirty and swap of'
          ' smaps_rollup since just before CREATE INDEX, leader and worker'
          ' (of which all is growth), every 20 ms; highest of %d. Allowed:'
          ' the budget, a tenth, and 4 MB a process.\n\n'
          '| corpus | MB | budget MB | participants | runs | counted MB |'
          ' growth MB | of it anonymous | allowed |  |' % args.runs)
    print('| --- ' + '| --: ' * 8 + '| --- |')
    holder = Holder()
    small, large = 64, 128 if args.smoke else 1024
    for corpus in args.corpus:
        size = load(corpus, args)
        for budget, n in ((small, 1), (small, 2), (large, 1), (large, 2)):
            one_memory(args, corpus, size, budget, n)
        drop(corpus, args)
    holder.end()
    check_clean('memory')


def one_memory(args, corpus, size, budget, n):
    peaks, r = [], None
    for _ in range(args.runs):
        watch = Watch()
        r = build(corpus, participants(n, maintenance_work_mem=f'{budget}MB'),
                  watch)
        if r['workers_launched'] != n - 1:
            raise Premise(f'{corpus}: no worker was launched')
        if n > 1 and not any(watch.known.values()) and not args.smoke:
            raise Premise(f'{corpus}: the worker was never seen')
        peaks.append(watch.peak)
    allowed = budget * 1.1 + 4 * n
    growth = max(p[0] for p in peaks) / MB
    print('| %s | %.0f | %d | %d | %.0f | %.1f | %.1f | %.1f | %.1f | %s |' % (
        corpus, size / 1e6, budget, n, r['runs'], r['memory_peak'] / MB,
        growth, max(p[1] for p in peaks) / MB, allowed,
        'MORE' if growth > allowed else ''), flush=True)


# --- all ------------------------------------------------------------------

SECTIONS = {'speed': speed, 'memory': memory, 'price': build_price.run,
            'loads': build_loads.run, 'spills': build_spills.run}


def options():
    p = argparse.ArgumentParser(
        description=__doc__, prog='test/bench/build',
        formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--section', action='append', choices=list(SECTIONS))
    p.add_argument('--rows', type=int, default=0,
                   help='of generated corpora (600000)')
    p.add_argument('--real-rows', type=int, default=0,
                   help='of those from SNII_DATA, at most')
    p.add_argument('--runs', type=int, default=0, help='of each arm (3)')
    p.add_argument('--mem', default='256MB',
                   help='maintenance_work_mem of section speed')
    p.add_argument('--corpus', action='append')
    p.add_argument('--no-gin', action='store_true')
    p.add_argument('--clients', default='', help='of section price (2,8,30)')
    p.add_argument('--parts', default='',
                   help='of sections price, loads and spills; --parts help'
                   ' names them')
    p.add_argument('--data', default=os.environ.get('SNII_DATA', ''),
                   help='folder with docs/ and logs/ (SNII_DATA)')
    p.add_argument('--keep', action='store_true',
                   help='use tables of corpora that are there, and leave them')
    p.add_argument('--smoke', action='store_true',
                   help='does everything run? The figures mean nothing')
    p.add_argument('--ctl', default=os.environ.get('SNII_BENCH_CTL', ''),
                   help='pg_ctl with its options (SNII_BENCH_CTL)')
    p.add_argument('--log', default=os.environ.get('SNII_BENCH_LOG', ''),
                   help="the server's log (SNII_BENCH_LOG)")
    p.add_argument('--libs', default=os.environ.get('SNII_BENCH_LIBS', ''),
                   help='folder with none.so, steps.so and every.so'
                   ' (SNII_BENCH_LIBS)')
    p.add_argument('--single', default=os.environ.get('SNII_BENCH_SINGLE', ''),
                   help='postgres --single with its options, behind what'
                   ' changes the user (SNII_BENCH_SINGLE)')
    o = p.parse_args()
    o.rows = o.rows or (3000 if o.smoke else 600000)
    o.real_rows = o.real_rows or (2000 if o.smoke else 0)
    o.runs = o.runs or (1 if o.smoke else 3)
    o.clients = [int(x) for x in (o.clients or
                                  ('2' if o.smoke else '2,8,30')).split(',')]
    o.parts = [x for x in o.parts.split(',') if x]
    have = corpora(o.data)
    if o.corpus is None:
        o.corpus = ['few', 'unique'] if o.smoke else have
    for c in o.corpus:
        if c not in have and c not in TEXTS:
            p.error(f'no such corpus: {c} (there are: {", ".join(have)})')
    return o


def main():
    o = options()
    psql('CREATE EXTENSION IF NOT EXISTS snii')
    if 'snii' not in psql('SHOW shared_preload_libraries'):
        raise Premise('snii is not preloaded')
    print('# Measured %s; load %.1f; %s\n' % (
        time.strftime('%Y-%m-%d %H:%M:%S'), os.getloadavg()[0],
        psql('SELECT version()').split(' on ')[0]))
    postmaster()
    for name in o.section or SECTIONS:
        began = time.monotonic()
        SECTIONS[name](o)
        print('\n(section %s: %.0f s)\n' % (name, time.monotonic() - began),
              flush=True)


if __name__ == '__main__':
    main()

#!/usr/bin/env python3
"""Measure builds: participants, memory and the price of its accounting.

usage: build_parallel.py [--rows N] [--runs N] [--gin] [--section NAME]...

For the server that PGHOST, PGPORT, PGUSER and PGDATABASE name, which has snii
installed and at least two worker processes to spare; run it on the server's
machine, as its user. Python's standard library and psql are all it needs.
Tables bench_build_* are made and dropped. Every figure is the median of
several runs, arms taking turns.

Sections:
    speed    one participant and two; fails if no worker was launched. The
             time on the clock needs two idle processors; beside it stands
             the processor time of one build by that of the busier of two
             participants, which does not.
    memory   growth of private memory (anonymous and swapped, of the leader
             and its workers) since just before CREATE INDEX
    counts   reporter calls, limiter calls and shared writes for a million
             terms, published in steps and at every change
"""
import argparse
import os
import statistics
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MB = 1024 * 1024
CORPORA = ['logs', 'short', 'few', 'unique']


def psql(text):
    r = subprocess.run(['psql', '-XAtq', '-v', 'ON_ERROR_STOP=1'], input=text,
                       capture_output=True, text=True)
    if r.returncode != 0:
        sys.exit(f'{text}\n{r.stderr}')
    return r.stdout.strip()


def load(corpus, rows):
    """Make table bench_build_CORPUS; returns the bytes of its text."""
    table = f'bench_build_{corpus}'
    psql(f'DROP TABLE IF EXISTS {table};'
         f'CREATE UNLOGGED TABLE {table} (id bigint, body text)')
    if corpus in ('logs', 'short'):
        gen = os.path.join(HERE, 'gen_logs.py')
        # a long line is one with base64
        keep = "| awk 'length($0) < 2000'" if corpus == 'short' else ''
        subprocess.run(f'python3 {gen} {rows} 1 {keep} | psql -Xqc '
                       f'"COPY {table} FROM STDIN"', shell=True, check=True)
    else:
        word = ("'w' || (random() * 200)::int" if corpus == 'few' else
                "md5((g * 20 + w)::text)")
        psql(f'''INSERT INTO {table} SELECT g, (SELECT string_agg({word}, ' ')
            FROM generate_series(1, 20) w WHERE g > 0)
            FROM generate_series(1, {rows}) g''')
    psql(f'VACUUM ANALYZE {table}')
    return int(psql(f'SELECT sum(length(body)) FROM {table}'))


COLUMNS = ['workers_launched', 'tokens', 'runs', 'memory_peak',
           'reporter_calls', 'limiter_calls', 'shared_writes', 'cpu_ms',
           'cpu_max_ms']


def build(corpus, settings, watch=None):
    """Build an index; what snii_last_build says, and seconds."""
    table = f'bench_build_{corpus}'
    sets = ''.join(f"SET {k} = '{v}';" for k, v in settings.items())
    psql('CHECKPOINT')
    p = subprocess.Popen(['psql', '-XAtq', '-v', 'ON_ERROR_STOP=1'],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         text=True, bufsize=1)

    def run(text):
        p.stdin.write(text + ';\nSELECT $$done$$;\n')
        p.stdin.flush()
        lines = []
        for line in p.stdout:
            if line.strip() == 'done':
                return lines
            lines.append(line.strip())
        sys.exit(f'{text} failed')

    # the session is warm: the library is loaded, the catalogs are read
    run(f"LOAD 'snii'; {sets} SELECT count(*) FROM snii_memory")
    pid = int(run('SELECT pg_backend_pid()')[-1])
    if watch:
        watch.begin(pid)
    start = time.monotonic()
    run(f'CREATE INDEX bench_build_i ON {table} USING snii (body)')
    seconds = time.monotonic() - start
    if watch:
        watch.end()
    row = run(f"SELECT {', '.join(COLUMNS)} FROM snii_last_build()")[-1]
    run('DROP INDEX bench_build_i')
    p.stdin.close()
    p.wait()
    result = dict(zip(COLUMNS, map(float, row.split('|'))))
    result['seconds'] = seconds
    return result


def private(pid):
    """Private memory of a process, in bytes; 0 if it is gone.

    Private_Dirty would count pages of the shared buffers that no other process
    has touched yet.
    """
    total = 0
    try:
        with open(f'/proc/{pid}/smaps_rollup') as f:
            for line in f:
                if line.startswith(('Pss_Anon:', 'Swap:')):
                    total += int(line.split()[1]) * 1024
    except OSError:
        return 0
    return total


class Watch(threading.Thread):
    """Highest growth of private memory, of a leader and its workers."""

    def begin(self, pid):
        self.pid, self.before, self.peak, self.on = pid, private(pid), 0, True
        with open(f'/proc/{pid}/stat') as f:
            self.postmaster = int(f.read().rsplit(')', 1)[1].split()[1])
        # what any process of the server has when it begins
        self.fresh = min(self.before, 3 * MB)
        self.start()

    def workers(self):
        r = subprocess.run(['pgrep', '-P', str(self.postmaster), '-f',
                            f'parallel worker for PID {self.pid}'],
                           capture_output=True, text=True)
        return [int(x) for x in r.stdout.split()]

    def run(self):
        while self.on:
            growth = private(self.pid) - self.before
            for w in self.workers():
                growth += max(0, private(w) - self.fresh)
            self.peak = max(self.peak, growth)
            time.sleep(0.01)

    def end(self):
        self.on = False
        self.join()


def medians(runs, key):
    return statistics.median(r[key] for r in runs)


def speed(args, texts):
    print('## Speed\n\n| corpus | MB | one: s | two: s | times |'
          ' one: CPU s | busier of two | times |' +
          (' GIN s | times |' if args.gin else ''))
    print('| --- ' * (10 if args.gin else 8) + '|')
    for corpus, size in texts.items():
        one, two, gin = [], [], []
        for _ in range(args.runs):
            for n, runs in ((0, one), (1, two)):
                runs.append(build(corpus, {
                    'maintenance_work_mem': args.mem,
                    'max_parallel_maintenance_workers': n,
                    'min_parallel_table_scan_size': '64kB'}))
        if min(r['workers_launched'] for r in two) < 1:
            sys.exit('no worker was launched')
        if args.gin:
            start = time.monotonic()
            psql(f"SET maintenance_work_mem = '{args.mem}';"
                 f"CREATE INDEX bench_build_g ON bench_build_{corpus} USING "
                 f"gin (to_tsvector('simple', body)); DROP INDEX bench_build_g")
            gin.append(time.monotonic() - start)
        s1, s2 = medians(one, 'seconds'), medians(two, 'seconds')
        c1, c2 = medians(one, 'cpu_ms') / 1e3, medians(two, 'cpu_max_ms') / 1e3
        print(f'| {corpus} | {size / 1e6:.0f} | {s1:.2f} | {s2:.2f} |'
              f' {s1 / s2:.2f} | {c1:.2f} | {c2:.2f} | {c1 / c2:.2f} |' +
              (f' {gin[0]:.1f} | {gin[0] / s2:.1f} |' if gin else ''),
              flush=True)


def memory(args, texts):
    print('\n## Growth of private memory\n\n| corpus | budget MB |'
          ' participants | runs | growth MB | allowed MB | |')
    print('| --- ' * 7 + '|')
    for corpus in texts:
        for budget, n in ((64, 0), (64, 1), (1024, 1)):
            watch = Watch()
            r = build(corpus, {
                'maintenance_work_mem': f'{budget}MB',
                'max_parallel_maintenance_workers': n,
                'min_parallel_table_scan_size': '64kB'}, watch)
            allowed = budget * 1.1 + 4 * (n + 1)
            growth = watch.peak / MB
            print(f'| {corpus} | {budget} | {n + 1} | {r["runs"]:.0f} |'
                  f' {growth:.1f} | {allowed:.1f} |'
                  f' {"" if growth <= allowed else "MORE"} |', flush=True)


def counts(args, texts):
    print('\n## Work of the accounting for a million terms\n\n| corpus |'
          ' published | reporter calls | limiter calls | shared writes'
          ' | of these counters |')
    print('| --- ' * 6 + '|')
    for corpus in texts:
        for name, step in (('in steps', '1MB'), ('at every change', '0')):
            r = build(corpus, {
                'maintenance_work_mem': args.mem,
                'max_parallel_maintenance_workers': 1,
                'min_parallel_table_scan_size': '64kB',
                'snii.memory_step': step})
            m = r['tokens'] / 1e6
            print(f'| {corpus} | {name} | {r["reporter_calls"] / m:.0f} |'
                  f' {r["limiter_calls"] / m:.0f} |'
                  f' {r["shared_writes"] / m:.0f} |'
                  f' {(r["shared_writes"] - r["limiter_calls"]) / m:.1f} |',
                  flush=True)


SECTIONS = {'speed': speed, 'memory': memory, 'counts': counts}


def main():
    p = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    p.add_argument('--rows', type=int, default=300000)
    p.add_argument('--runs', type=int, default=3)
    p.add_argument('--mem', default='256MB')
    p.add_argument('--gin', action='store_true', help='measure GIN, once')
    p.add_argument('--corpus', action='append', choices=CORPORA)
    p.add_argument('--section', action='append', choices=list(SECTIONS))
    args = p.parse_args()
    psql('CREATE EXTENSION IF NOT EXISTS snii')
    texts = {c: load(c, args.rows) for c in args.corpus or CORPORA}
    try:
        for name in args.section or SECTIONS:
            SECTIONS[name](args, texts)
    finally:
        for c in texts:
            psql(f'DROP TABLE IF EXISTS bench_build_{c}')


if __name__ == '__main__':
    main()

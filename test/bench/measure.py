#!/usr/bin/env python3
"""Measure snii beside GIN and print the tables (see docs/benchmarks.md).

Started by test/bench/run, which makes the server; Python's standard library
and psql are all it needs. Every figure is the median of several runs, arms
taking turns; all single runs go to out/bench-*.tsv of the work folder.
Beside the time on the clock stands the CPU time of the backend, which is the
fairer figure where the machine has other work.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ARMS = ['snii', 'gin', 'gin_tsv', 'rum_tsv']
NAMES = {'snii': 'snii', 'gin': 'GIN, expression',
         'gin_tsv': 'GIN, stored tsvector', 'rum_tsv': 'RUM, stored tsvector'}

# name: (file below SNII_DATA, column of the text, rows, rows when quick)
CORPORA = {
    'books': ('docs/books.tsv.zst', 6, 0, 15000),
    'debian': ('docs/debian_descriptions.tsv.zst', 5, 0, 15000),
    'windows': ('logs/windows_events.tsv.zst', 7, 150000, 15000),
    'zeek': ('logs/zeek_wrccdc.tsv.zst', 5, 0, 15000),
    'logs': (None, 2, 300000, 30000),
    'corpus': ('corpus', 7, 0, 15000),
}
PRELOAD, ONE_INSERT, ONE_COPY = 200000, 50000, 100000
QUICK_PRELOAD, QUICK_INSERT, QUICK_COPY = 20000, 10000, 10000

MEDIAN_LIMIT, SINGLE_LIMIT = 1.05, 1.2
SLOW_MS = 150                   # such a query runs once
SLOW_BUILD_S = 20              # such a build runs as --slow-runs says
FAST_MS = 5                     # such a query runs FAST_TIMES as often
FAST_TIMES = 4
COUNTS_AGREE = 0.05


class Session:
    """One psql, one backend; its statements are timed by both clocks."""

    def __init__(self, log):
        self.log = log
        self.psql = subprocess.Popen(
            ['psql', '-XAtq', '-v', 'ON_ERROR_STOP=0'],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, bufsize=1)
        self.serial = 0
        self.run('\\pset pager off')
        self.run("SET client_min_messages = error")
        self.pid = int(self.run('SELECT pg_backend_pid()')[0])
        # clock_getcpuclockid() of the backend
        self.clock = (~self.pid << 3) | 2

    def run(self, text, fail=True):
        self.serial += 1
        mark = '#end %d' % self.serial
        end = '' if text.startswith('\\') else ';'
        self.psql.stdin.write('%s%s\n\\echo %s\n' % (text, end, mark))
        self.psql.stdin.flush()
        lines = []
        for line in self.psql.stdout:
            line = line.rstrip('\n')
            if line == mark:
                break
            lines.append(line)
        else:
            raise SystemExit('psql ended:\n' + '\n'.join(lines))
        bad = [x for x in lines if re.match(r'(psql:[^ ]* )?ERROR:', x)]
        if bad and fail:
            raise SystemExit('%s\n%s' % (text, '\n'.join(lines)))
        return lines

    def one(self, text):
        lines = self.run(text)
        return lines[0] if lines else None

    def timed(self, text):
        """(ms on the clock, CPU ms of the backend, first line)."""
        self.run('\\timing on')
        before = time.clock_gettime(self.clock)
        lines = self.run(text)
        cpu = (time.clock_gettime(self.clock) - before) * 1000
        self.run('\\timing off')
        wall = [x for x in lines if x.startswith('Time: ')]
        rest = [x for x in lines if not x.startswith('Time: ')]
        return float(wall[-1].split()[1]), cpu, rest[0] if rest else None

    def lsn(self):
        return int(self.one("SELECT pg_current_wal_insert_lsn() - '0/0'"))


class Peak(threading.Thread):
    """Private memory of a backend, looked at every 20 ms."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.path = '/proc/%d/status' % pid
        self.peak = 0
        self.base = self.look()
        self.stop = threading.Event()

    def look(self):
        try:
            with open(self.path) as f:
                for line in f:
                    if line.startswith('RssAnon:'):
                        return int(line.split()[1]) * 1024
        except OSError:
            pass
        return 0

    def run(self):
        while not self.stop.wait(0.02):
            self.peak = max(self.peak, self.look())

    def end(self):
        self.stop.set()
        self.join()
        return max(self.peak - self.base, 0)


def median(values):
    return statistics.median(values) if values else float('nan')


def spread(values, form='%.1f'):
    if len(values) < 2:
        return form % median(values)
    return '%s (%s-%s)' % (form % median(values), form % min(values),
                           form % max(values))


def quantile(values, q):
    values = sorted(values)
    return values[min(int(q * len(values)), len(values) - 1)]


def table(head, rows):
    print('| ' + ' | '.join(head) + ' |')
    print('|' + '|'.join([' --- '] + [' --: '] * (len(head) - 1)) + '|')
    for row in rows:
        print('| ' + ' | '.join(str(x) for x in row) + ' |')
    print()
    sys.stdout.flush()


class Bench:
    """What the sections share; those of writes.py and upkeep.py use it."""

    def __init__(self, options):
        self.o = options
        self.log = open(os.path.join(
            options.work, 'out', 'bench-%s-%d.tsv' % (
                time.strftime('%H%M%S'), os.getpid())), 'w', encoding='utf-8')
        self.s = Session(self.log)
        self.arms = list(options.arms)
        self.s.run('CREATE EXTENSION IF NOT EXISTS snii')
        if self.s.one("SELECT count(*) FROM pg_available_extensions"
                      " WHERE name = 'rum'") == '0':
            self.arms = [a for a in self.arms if a != 'rum_tsv']
        if 'rum_tsv' in self.arms:
            self.s.run('CREATE EXTENSION IF NOT EXISTS rum')

    def note(self, *fields):
        self.log.write('\t'.join(str(f) for f in fields) + '\n')
        self.log.flush()

    def reconnect(self):
        """A new backend, whose memory has no free blocks of before."""
        self.s.psql.stdin.close()
        self.s.psql.wait()
        self.s = Session(self.log)
        return self.s

    def restart(self, *statements):
        """Run statements, then restart the server."""
        for text in statements:
            self.s.run(text)
        self.s.psql.stdin.close()
        self.s.psql.wait()
        subprocess.run(self.o.ctl + ' restart', shell=True, check=True,
                       stdout=subprocess.DEVNULL)
        self.s = Session(self.log)

    def settings_on(self, **settings):
        for name, value in settings.items():
            self.s.run("ALTER SYSTEM SET %s = '%s'" % (name, value))
        self.s.run('SELECT pg_reload_conf()')

    def settings_off(self, *names):
        for name in names:
            self.s.run('ALTER SYSTEM RESET ' + name)
        self.s.run('SELECT pg_reload_conf()')

    # --- corpora ----------------------------------------------------------

    def source(self, name):
        """Shell command that prints id and body of a corpus, or None."""
        path, column, rows, few = CORPORA[name]
        if self.o.quick:
            rows = few
        if self.o.rows:
            rows = self.o.rows
        if name == 'logs':
            return '%s/gen_logs.py %d 1' % (HERE, rows)
        if name == 'corpus':
            path = self.o.corpus
        elif self.o.data:
            path = os.path.join(self.o.data, path)
        else:
            return None
        if not path or not os.path.exists(path):
            return None
        read = 'zstd -dcq' if path.endswith('.zst') else 'cat'
        head = ' | head -n %d' % rows if rows else ''
        return "%s '%s' 2>/dev/null%s | cut -f1,%d" % (read, path, head,
                                                       column)

    def load(self, name):
        """Table bench_NAME and bench_NAME_tsv; False if there is no data."""
        t = 'bench_' + name
        s = self.s
        if self.o.keep and s.one("SELECT to_regclass('%s_tsv')" % t):
            return True
        command = self.source(name)
        if command is None:
            return False
        s.run('DROP TABLE IF EXISTS %s, %s_tsv' % (t, t))
        s.run('CREATE TABLE %s (id bigint, body text)' % t)
        s.run('\\copy %s FROM PROGRAM \'bash -c "%s"\'' %
              (t, command.replace("'", "''")))
        if any(a.endswith('_tsv') for a in self.arms):
            s.run("CREATE TABLE %s_tsv AS SELECT id,"
                  " to_tsvector('simple', body) AS tsv FROM %s" % (t, t))
            s.run('VACUUM (FREEZE, ANALYZE) %s_tsv' % t)
        else:
            s.run('CREATE TABLE %s_tsv (id bigint, tsv tsvector)' % t)
        s.run('VACUUM (FREEZE, ANALYZE) %s' % t)
        return True

    def describe(self, corpora):
        rows = []
        for c in corpora:
            line = self.s.one(
                "SELECT count(*) || '|' ||"
                " round(sum(octet_length(body)) / 1e6, 1) || '|' ||"
                " round(pg_table_size('bench_%s') / 1e6, 1) || '|' ||"
                " round(pg_table_size('bench_%s_tsv') / 1e6, 1)"
                " FROM bench_%s" % (c, c, c))
            rows.append([c] + line.split('|'))
        print('## Corpora\n')
        table(['corpus', 'rows', 'text MB', 'table MB', 'tsvector table MB'],
              rows)

    def create(self, arm, t):
        """Statement that makes the index of an arm on bench_T."""
        name = '%s_%s' % (t, arm)
        return {
            'snii': 'CREATE INDEX %s ON %s USING snii (body)' % (name, t),
            'gin': "CREATE INDEX %s ON %s USING gin"
                   " (to_tsvector('simple', body))" % (name, t),
            'gin_tsv': 'CREATE INDEX %s ON %s_tsv USING gin (tsv)' %
                       (name, t),
            'rum_tsv': 'CREATE INDEX %s ON %s_tsv USING rum (tsv)' %
                       (name, t),
        }[arm]

    # --- build, size and WAL ----------------------------------------------

    def build_once(self, arm, corpus):
        s = self.s
        t = 'bench_' + corpus
        s.run('DROP INDEX IF EXISTS %s_%s' % (t, arm))
        s = self.reconnect()
        s.run('CHECKPOINT')
        # The arms read the same warm table.
        s.run('SELECT count(*) FROM %s' %
              (t + '_tsv' if arm.endswith('_tsv') else t))
        before = s.lsn()
        peak = Peak(s.pid)
        peak.start()
        wall, cpu, _ = s.timed(self.create(arm, t))
        memory = peak.end()
        wal = s.lsn() - before
        size = int(s.one("SELECT pg_relation_size('%s_%s')" % (t, arm)))
        self.note('build', corpus, arm, '%.1f' % wall, '%.1f' % cpu, size,
                  wal, memory)
        return wall / 1000, cpu / 1000, size, wal, memory

    def build(self, corpora):
        print('## Build, one process\n')
        rows = []
        for c in corpora:
            runs = {a: [] for a in self.arms}
            for i in range(self.o.runs):
                order = self.arms if i % 2 == 0 else self.arms[::-1]
                for arm in order:
                    if i >= self.o.slow_runs and \
                            runs[arm][0][1] > SLOW_BUILD_S:
                        continue
                    runs[arm].append(self.build_once(arm, c))
            ours = [median([r[k] for r in runs['snii']]) for k in range(5)]
            for arm in self.arms:
                r = runs[arm]
                m = [median([x[k] for x in r]) for k in range(5)]
                rows.append([
                    c, NAMES[arm], spread([x[0] for x in r]),
                    spread([x[1] for x in r]),
                    '%.1f' % (m[0] / ours[0]), '%.1f' % (m[1] / ours[1]),
                    '%.1f' % (m[2] / 1e6), '%.2f' % (ours[2] / m[2]),
                    '%.1f' % (m[3] / 1e6), '%.2f' % (m[3] / m[2]),
                    '%.0f' % (m[4] / 1e6)])
        table(['corpus', 'index', 'build s', 'CPU s', 'x ours', 'x ours (CPU)',
               'size MB', 'ours / it', 'WAL MB', 'WAL / size', 'memory MB'],
              rows)

    # --- queries ----------------------------------------------------------

    def condition(self, arm, kind, words):
        if arm == 'snii':
            if kind == 'not':
                return "body @@@ '%s AND NOT %s'" % words
            if kind.startswith('phrase'):
                return "body ### '%s'" % ' '.join(words)
            op = '|||' if kind.startswith('or') else '&&&'
            return "body %s '%s'" % (op, ' '.join(words))
        left = 'tsv' if arm.endswith('_tsv') else "to_tsvector('simple', body)"
        if kind.startswith('phrase'):
            return "%s @@ phraseto_tsquery('simple', '%s')" % (
                left, ' '.join(words))
        if kind == 'not':
            text = '%s & !%s' % words
        else:
            text = (' | ' if kind.startswith('or') else ' & ').join(words)
        return "%s @@ to_tsquery('simple', '%s')" % (left, text)

    def statement(self, arm, corpus, kind, words, form):
        t = 'bench_' + corpus + ('_tsv' if arm.endswith('_tsv') else '')
        head = 'SELECT count(*)' if form == 'count' else 'SELECT id'
        tail = '' if form == 'count' else ' LIMIT 10'
        return '%s FROM %s WHERE %s%s' % (
            head, t, self.condition(arm, kind, words), tail)

    def query_list(self, corpus):
        path = os.path.join(HERE, 'queries', corpus + '.tsv')
        out = []
        if not os.path.exists(path):
            return out
        with open(path, encoding='utf-8') as f:
            for line in f:
                kind, step, rows, words = line.rstrip('\n').split('\t')
                if self.o.classes and kind not in self.o.classes:
                    continue
                out.append((kind, int(step), tuple(words.split())))
        if self.o.quick:
            seen = {}
            for q in out:
                seen.setdefault(q[:2], q)
            out = list(seen.values())
        return out

    def measure(self, corpus, kind, step, words, form):
        """{arm: (wall, cpu, first line)} by medians, arms taking turns."""
        texts = {a: self.statement(a, corpus, kind, words, form)
                 for a in self.query_arms}
        runs = {}
        first = {}
        result = {}
        for arm, text in texts.items():     # warm up
            wall, cpu, value = self.s.timed(text)
            first[arm] = (wall, cpu)
            runs[arm] = [(wall, cpu)] if cpu > SLOW_MS else []
            result[arm] = value
        times = self.o.query_runs
        if max(cpu for _, cpu in first.values()) < FAST_MS:
            times *= FAST_TIMES
        for i in range(times):
            order = list(texts) if i % 2 == 0 else list(texts)[::-1]
            for arm in order:
                if runs[arm] and runs[arm][0][1] > SLOW_MS:
                    continue
                runs[arm].append(self.s.timed(texts[arm])[:2])
        out = {}
        for arm, r in runs.items():
            out[arm] = (median([x[0] for x in r]), median([x[1] for x in r]),
                        result[arm])
            self.note('query', corpus, kind, step, form, ' '.join(words), arm,
                      '%.3f' % out[arm][0], '%.3f' % out[arm][1],
                      result[arm], ' '.join('%.3f' % x[1] for x in r))
        return out

    def plan(self, statement):
        lines = self.s.run('EXPLAIN (ANALYZE, BUFFERS, TIMING OFF) ' +
                           statement)
        return [x for x in lines if x]

    def queries(self, corpora):
        self.query_arms = [a for a in self.arms if a in self.o.query_arms]
        for c in corpora:
            todo = self.query_list(c)
            if not todo:
                continue
            t = 'bench_' + c
            for arm in self.query_arms:
                if not self.s.one("SELECT to_regclass('%s_%s')" % (t, arm)):
                    self.s.run(self.create(arm, t))
            self.s.run('VACUUM (ANALYZE) %s' % t)
            self.s.run('VACUUM (ANALYZE) %s_tsv' % t)
            self.queries_of(c, todo)

    def queries_of(self, corpus, todo):
        print('## Queries, %s\n' % corpus)
        print('Ratios are CPU time of ours over that of the other index;'
              ' "slower" counts queries above %.1f.\n' % SINGLE_LIMIT)
        others = [a for a in self.query_arms if a != 'snii']
        results = {}
        for kind, step, words in todo:
            for form in ('count', 'limit'):
                r = self.measure(corpus, kind, step, words, form)
                results.setdefault((kind, form), []).append((words, r))
        rows = []
        worst = []
        for (kind, form), found in results.items():
            for other in others:
                good = [(w, r) for w, r in found if self.agree(form, kind,
                                                               r, other,
                                                               results, w)]
                if not good:
                    continue
                cpu = [r['snii'][1] / r[other][1] for _, r in good]
                wall = [r['snii'][0] / r[other][0] for _, r in good]
                rows.append([
                    kind, form, other, '%d/%d' % (len(good), len(found)),
                    '%.2f' % median([r['snii'][1] for _, r in good]),
                    '%.2f' % median([r[other][1] for _, r in good]),
                    '%.2f' % median(cpu), '%.2f' % quantile(cpu, 0.1),
                    '%.2f' % quantile(cpu, 0.9), '%.2f' % max(cpu),
                    sum(x > SINGLE_LIMIT for x in cpu),
                    '%.2f' % median(wall)])
                worst += [(r['snii'][1] / r[other][1], kind, form, other, w)
                          for w, r in good]
        table(['class', 'form', 'other', 'queries', 'ours ms', 'other ms',
               'ratio', '10 %', '90 %', 'worst', 'slower', 'ratio (wall)'],
              rows)
        worst.sort(reverse=True)
        print('The ten worst, with plans:\n')
        for ratio, kind, form, other, words in worst[:10]:
            print('%.2f %s %s %s %s' % (ratio, kind, form, other,
                                        ' '.join(words)))
            for arm in ('snii', other):
                for line in self.plan(self.statement(arm, corpus, kind, words,
                                                     form)):
                    print('    ' + line)
        print()

    @staticmethod
    def agree(form, kind, r, other, results, words):
        """Do both find the same rows, by and large? Words differ by rule."""
        if form != 'count':
            for w, counted in results[(kind, 'count')]:
                if w == words:
                    r = counted
        a, b = int(r['snii'][2]), int(r[other][2])
        return abs(a - b) <= max(2, COUNTS_AGREE * max(a, b))

    # --- inserts ----------------------------------------------------------

    def insert_once(self, arm):
        """{step: (wall, cpu, wal)} of one arm, from a fresh table."""
        s = self.s
        s.run('DROP TABLE IF EXISTS bench_insert')
        s.run('CREATE TABLE bench_insert (id bigint, body text)')
        s.run('INSERT INTO bench_insert SELECT * FROM bench_pool'
              ' WHERE id <= %d' % self.preload)
        settle = None
        if arm == 'snii':
            s.run('CREATE INDEX bench_insert_i ON bench_insert'
                  ' USING snii (body)')
            settle = "SELECT snii_flush('bench_insert_i')"
        elif arm == 'gin':
            s.run("CREATE INDEX bench_insert_i ON bench_insert USING gin"
                  " (to_tsvector('simple', body)) WITH (fastupdate = on)")
            settle = "SELECT gin_clean_pending_list('bench_insert_i')"
        s.run('VACUUM (FREEZE, ANALYZE) bench_insert')
        out = {}
        for step, text in (
                ('INSERT', 'INSERT INTO bench_insert SELECT * FROM bench_pool'
                 ' WHERE id > %d AND id <= %d' %
                 (self.preload, self.preload + self.insert)),
                ('COPY', "COPY bench_insert FROM '%s'" % self.copy_file)):
            s.run('CHECKPOINT')
            before = s.lsn()
            wall, cpu, _ = s.timed(text)
            middle = s.lsn() - before
            settled = (0, 0)
            if settle:
                settled = s.timed(settle)[:2]
            wal = s.lsn() - before
            out[step] = (wall + settled[0], cpu + settled[1], wal)
            size = s.one("SELECT pg_relation_size('bench_insert_i')") \
                if settle else 0
            self.note('insert', arm, step, '%.1f' % wall, '%.1f' % cpu,
                      middle, '%.1f' % settled[0], '%.1f' % settled[1], wal,
                      size)
        if arm == 'snii':
            s.run("SELECT snii_check('bench_insert_i')")
        return out

    def inserts(self):
        quick = self.o.quick
        self.preload = QUICK_PRELOAD if quick else PRELOAD
        self.insert = QUICK_INSERT if quick else ONE_INSERT
        copy = QUICK_COPY if quick else ONE_COPY
        if self.o.smoke:
            self.preload = self.insert = copy = self.o.rows
        s = self.s
        pool = self.preload + self.insert
        s.run('DROP TABLE IF EXISTS bench_pool')
        s.run('CREATE TABLE bench_pool (id bigint, body text)')
        s.run("\\copy bench_pool FROM PROGRAM '%s/gen_logs.py %d 2'" %
              (HERE, pool))
        s.run('VACUUM (FREEZE, ANALYZE) bench_pool')
        self.copy_file = os.path.join(self.o.work, 'out', 'bench-copy.tsv')
        with open(self.copy_file, 'w') as f:
            subprocess.run([HERE + '/gen_logs.py', str(copy), '3',
                            str(pool + 1)], stdout=f, check=True)
        os.chmod(self.copy_file, 0o644)
        arms = ['none', 'snii', 'gin']
        runs = {a: [] for a in arms}
        for i in range(self.o.runs):
            for arm in arms if i % 2 == 0 else arms[::-1]:
                runs[arm].append(self.insert_once(arm))
        print('## Inserts into %d log rows, index part alone\n' %
              self.preload)
        print("GIN's pending list cleaned and our buffer flushed, both"
              ' counted.\n')
        rows = []
        for step, n in (('INSERT', self.insert), ('COPY', copy)):
            base = [median([r[step][k] for r in runs['none']])
                    for k in range(3)]
            part = {}
            for arm in ('snii', 'gin'):
                part[arm] = [[r[step][k] - base[k] for r in runs[arm]]
                             for k in range(3)]
            for arm in ('snii', 'gin'):
                p = part[arm]
                ours = part['snii']
                rows.append([
                    '%s of %d' % (step, n), NAMES[arm],
                    spread([x / 1000 for x in p[0]], '%.2f'),
                    spread([x / 1000 for x in p[1]], '%.2f'),
                    '%.1f' % (median(p[0]) / median(ours[0])),
                    '%.1f' % (median(p[1]) / median(ours[1])),
                    '%.1f' % (median(p[2]) / 1e6),
                    '%.0f' % (median(p[2]) / n),
                    '%.2f' % (median(ours[2]) / median(p[2]))])
            rows.append(['%s of %d' % (step, n), 'no index (the table)',
                         '%.2f' % (base[0] / 1000), '%.2f' % (base[1] / 1000),
                         '', '', '%.1f' % (base[2] / 1e6),
                         '%.0f' % (base[2] / n), ''])
        table(['statement', 'index', 's', 'CPU s', 'x ours', 'x ours (CPU)',
               'WAL MB', 'WAL B/row', 'ours / it'], rows)

    # --- all --------------------------------------------------------------

    def settings(self):
        print('# Measured %s\n' % time.strftime('%Y-%m-%d %H:%M:%S'))
        commit = subprocess.run(
            ['git', '-C', HERE, 'rev-parse', '--short', 'HEAD'],
            capture_output=True, text=True).stdout.strip()
        with open('/proc/cpuinfo') as f:
            cpus = [x.split(':')[1].strip() for x in f
                    if x.startswith('model name')]
        print('commit %s; %s; %d x %s; load %s; medians of %d builds, %d'
              ' queries\n' % (
                  self.o.commit or commit or 'unknown',
                  self.s.one('SELECT version()').split(' on ')[0],
                  len(cpus), cpus[0] if cpus else 'unknown',
                  ' '.join('%.1f' % x for x in os.getloadavg()),
                  self.o.runs, self.o.query_runs))
        for line in self.s.run(
                "SELECT name || ' = ' || current_setting(name)"
                " FROM pg_settings WHERE name IN ('shared_buffers',"
                "'maintenance_work_mem', 'max_wal_size', 'autovacuum', 'jit',"
                "'max_parallel_maintenance_workers', 'fsync', 'work_mem',"
                "'max_parallel_workers_per_gather', 'synchronous_commit',"
                "'random_page_cost', 'gin_pending_list_limit',"
                "'effective_cache_size', 'full_page_writes',"
                "'wal_compression') ORDER BY name"):
            print('    ' + line)
        print()

    def all(self):
        self.settings()
        have = []
        if {'build', 'queries'} & set(self.o.sections):
            for c in self.o.corpora:
                if self.load(c):
                    have.append(c)
                else:
                    print('(no data for corpus %s: set SNII_DATA, or give'
                          ' --corpus)\n' % c)
            self.describe(have)
        if 'build' in self.o.sections:
            self.build(have)
        if 'inserts' in self.o.sections:
            self.inserts()
        if 'queries' in self.o.sections:
            self.queries(have)
        if 'writes' in self.o.sections:
            writes.Writes(self).run()
        for section in upkeep.SECTIONS:
            if section in self.o.sections:
                upkeep.Upkeep(self).run(section)


def main():
    p = argparse.ArgumentParser(
        prog='test/bench/run', description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument('--quick', action='store_true',
                   help='small corpora, few queries, one run: 3 minutes')
    p.add_argument('--runs', type=int, default=0, help='builds, inserts (3)')
    p.add_argument('--slow-runs', type=int, default=0,
                   help='builds of an arm above 20 s of CPU time (as runs)')
    p.add_argument('--query-runs', type=int, default=0,
                   help='runs of a query after the first (3)')
    p.add_argument('--sections', default='build,queries,inserts',
                   help='which: build (with size and WAL), queries, inserts;'
                   ' and, not by default, writes, updates, delete, horizon,'
                   ' buffer')
    p.add_argument('--smoke', action='store_true',
                   help='does everything run? The figures mean nothing')
    p.add_argument('--seconds', type=float, default=0,
                   help='length of a load of section writes (60)')
    p.add_argument('--clients', default='', help='of section writes (1,8)')
    p.add_argument('--commits', default='',
                   help='synchronous_commit of section writes (off,on)')
    p.add_argument('--write-runs', type=int, default=1,
                   help='of each arm of section writes')
    p.add_argument('--write-arms', default=','.join(writes.ARMS))
    p.add_argument('--write-parts', default='loads,queries')
    p.add_argument('--corpora', default=','.join(CORPORA))
    p.add_argument('--classes', default='', help='of queries, else all')
    p.add_argument('--arms', default=','.join(ARMS))
    p.add_argument('--query-arms', default='snii,gin,gin_tsv')
    p.add_argument('--rows', type=int, default=0, help='at most, per corpus')
    p.add_argument('--data', default=os.environ.get('SNII_DATA', ''),
                   help='folder with docs/ and logs/ (SNII_DATA)')
    p.add_argument('--corpus', default=os.environ.get('SNII_CORPUS', ''),
                   help='output of make-corpus.sh (SNII_CORPUS)')
    p.add_argument('--keep', action='store_true',
                   help='use tables that are there')
    p.add_argument('--commit', default=os.environ.get('SNII_COMMIT', ''),
                   help='name to print for what is measured')
    p.add_argument('--ctl', default=os.environ.get('SNII_BENCH_CTL', ''),
                   help='pg_ctl with its options, to restart the server'
                   ' (SNII_BENCH_CTL; without it some arms are left out)')
    p.add_argument('--work', required=True, help=argparse.SUPPRESS)
    o = p.parse_args()
    o.quick = o.quick or o.smoke
    o.rows = o.rows or (2000 if o.smoke else 0)
    o.seconds = o.seconds or (1 if o.smoke else 60)
    o.clients = o.clients or ('2' if o.smoke else '1,8')
    o.commits = o.commits or ('off' if o.smoke else 'off,on')
    for name in ('sections', 'corpora', 'classes', 'arms', 'query_arms',
                 'clients', 'commits', 'write_arms', 'write_parts'):
        setattr(o, name, [x for x in getattr(o, name).split(',') if x])
    for name, known in (('corpora', CORPORA), ('arms', ARMS),
                        ('write_arms', writes.ARMS),
                        ('sections', ('build', 'queries', 'inserts',
                                      'writes') + upkeep.SECTIONS)):
        for x in getattr(o, name):
            if x not in known:
                p.error('unknown: %s (known: %s)' % (x, ', '.join(known)))
    if 'snii' not in o.arms:
        p.error('arm snii is always needed')
    o.runs = o.runs or (1 if o.quick else 3)
    o.slow_runs = o.slow_runs or o.runs
    o.query_runs = o.query_runs or (1 if o.quick else 3)
    Bench(o).all()


if __name__ == '__main__':
    # Under its own name: the sections' files import it.
    sys.modules['measure'] = sys.modules['__main__']
    import upkeep
    import writes
    main()

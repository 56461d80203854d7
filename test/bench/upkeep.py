"""Sections updates, delete, horizon and buffer of the benchmark.

Used by measure.py. What an index takes over time: room while rows change and
while old snapshots are held, the time of VACUUM, and that of the search in
the write buffer.
"""
import os
import re
import threading
import time

from measure import Session, median, table
from writes import choose_queries, documents, log_lines

SECTIONS = ('updates', 'delete', 'horizon', 'buffer')
LIVE_BYTES = 8 << 20            # below this, a ratio of sizes says nothing
BLOCK = 8192


class Upkeep:
    def __init__(self, bench):
        self.b = bench
        self.o = bench.o
        self.s = bench.s

    def run(self, section):
        {'updates': self.updates, 'delete': self.delete,
         'horizon': self.horizon, 'buffer': self.buffer}[section]()

    def stats(self, *names):
        line = self.s.one("SELECT concat_ws('|', %s) FROM"
                          " snii_stats('bench_upkeep_i')" % ', '.join(names))
        return [int(x) for x in line.split('|')]

    def load(self, texts, index=True):
        """Table bench_upkeep of the texts, with ids from 0."""
        s = self.s
        s.run('DROP TABLE IF EXISTS bench_upkeep')
        s.run('CREATE TABLE bench_upkeep (id bigint, body text)')
        path = os.path.join(self.o.work, 'out', 'bench-upkeep.tsv')
        with open(path, 'wb') as f:
            for i, text in enumerate(texts):
                for raw, quoted in ((b'\\', b'\\\\'), (b'\t', b'\\t'),
                                    (b'\n', b'\\n'), (b'\r', b'\\r')):
                    text = text.replace(raw, quoted)
                f.write(b'%d\t%s\n' % (i, text))
        s.run("\\copy bench_upkeep FROM '%s'" % path)
        os.unlink(path)
        if index:
            self.index()

    def index(self):
        self.s.run('CREATE INDEX bench_upkeep_i ON bench_upkeep'
                   ' USING snii (body)')

    def settle(self):
        self.s.run("SELECT snii_flush('bench_upkeep_i')")
        self.s.run("SELECT snii_merge('bench_upkeep_i')")

    # --- updates ----------------------------------------------------------

    def updates(self):
        """Every row again and again, with VACUUM between."""
        n, rounds = (200, 3) if self.o.smoke else (10000, 200)
        s = self.s
        texts = documents(self.o, 1024, n)
        self.load(texts)
        n = len(texts)
        s.run('CREATE UNIQUE INDEX bench_upkeep_id ON bench_upkeep (id)')
        s.run('DROP TABLE IF EXISTS bench_upkeep_texts')
        s.run('CREATE TABLE bench_upkeep_texts AS TABLE bench_upkeep')
        s.run('ANALYZE bench_upkeep_texts')
        used, size = [], []
        begin = time.monotonic()
        for r in range(1, rounds + 1):
            s.run('UPDATE bench_upkeep u SET body = t.body FROM'
                  ' bench_upkeep_texts t WHERE t.id ='
                  ' (u.id + %d) %% %d' % (r * 37, n))
            s.run('VACUUM bench_upkeep')
            pages, free, *more = self.stats(
                'file_pages', 'free_pages', 'parked_pages', 'segments',
                'buffer_open_bytes', 'buffer_sealed_bytes', 'documents',
                'dead', 'helps')
            used.append(pages - free)
            size.append(pages)
            self.b.note('update', r, pages, free, *more)
        wall = time.monotonic() - begin
        s.run("SELECT snii_check('bench_upkeep_i')")
        s.run('REINDEX INDEX bench_upkeep_i')
        fresh = self.stats('file_pages')[0]
        limit = int(s.one("SELECT pg_size_bytes(current_setting("
                          "'snii.buffer_limit'))")) // BLOCK
        print('## %d rounds of updates of %d rows, VACUUM between\n' % (
            rounds, n))
        table(['pages', 'fresh build', 'highest', 'last', 'bound',
               'highest / bound'],
              [[what, fresh, max(x), x[-1], 3 * fresh + limit,
                '%.2f' % (max(x) / (3 * fresh + limit))]
               for what, x in (('in use', used), ('of the file', size))])
        print('Bound: 3 times the fresh build and the %d pages of the buffer'
              ' limit. %.2f s a round.\n' % (limit, wall / rounds))
        s.run('DROP TABLE bench_upkeep, bench_upkeep_texts')

    # --- delete -----------------------------------------------------------

    def delete(self):
        """VACUUM's part in the index after a scattered delete."""
        s = self.s
        rows = 20000 if self.o.smoke else 1000000
        lines = log_lines(self.o)
        times = {}
        for arm in ('none', 'snii'):
            self.load([lines[i % len(lines)] for i in range(rows)],
                      arm == 'snii')
            s.run('VACUUM (FREEZE) bench_upkeep')
            s.run('DELETE FROM bench_upkeep WHERE hashint8(id) % 10 = 0')
            s.run('CHECKPOINT')
            s.run('SELECT count(*) FROM bench_upkeep')
            s.run('SET snii.log_min_duration = 0')
            s.run('SET client_min_messages = log')
            before = time.clock_gettime(s.clock)
            start = time.monotonic()
            said = s.run('VACUUM bench_upkeep')
            times[arm] = (time.monotonic() - start,
                          time.clock_gettime(s.clock) - before)
            s.run('SET client_min_messages = error')
            s.run('RESET snii.log_min_duration')
            parts = [x for x in said if 'snii ' in x]
            logged = sum(float(m.group(1)) for m in (
                re.search(r'took ([0-9.]+) ms', x) for x in parts) if m)
            for line in parts:
                self.b.note('delete', line)
        wall, cpu, _ = s.timed('REINDEX INDEX bench_upkeep_i')
        print('## Delete of 10 %% of %d rows\n' % rows)
        table(['what', 's', 'CPU s', 'of the rebuild'],
              [['VACUUM, no index', '%.2f' % times['none'][0],
                '%.2f' % times['none'][1], ''],
               ['VACUUM', '%.2f' % times['snii'][0],
                '%.2f' % times['snii'][1], ''],
               ['its work on the index', '%.3f' % (logged / 1000), '',
                '%.1f %%' % (logged / wall * 100)],
               ['REINDEX, serial', '%.2f' % (wall / 1000),
                '%.2f' % (cpu / 1000), '']])
        print('The work on the index is what snii.log_min_duration = 0 logs'
              ' in VACUUM.\n')
        s.run('DROP TABLE bench_upkeep')

    # --- horizon ----------------------------------------------------------

    def watch(self, work):
        """Do work; highest (file / live, live, file) seen meanwhile."""
        done = threading.Event()
        errors = []

        def run():
            try:
                work()
            except BaseException as e:      # a SystemExit of the session
                errors.append(e)
            finally:
                done.set()

        thread = threading.Thread(target=run)
        worst = (0, 0, 0)
        thread.start()
        ended = False
        while not ended:
            ended = done.wait(0.1)
            pages, free, parked = self.stats('file_pages', 'free_pages',
                                             'parked_pages')
            live = pages - free - parked
            if live * BLOCK >= LIVE_BYTES or self.o.smoke:
                worst = max(worst, (pages / live, live, pages))
        thread.join()
        if errors:
            raise SystemExit('the load failed: %s' % errors[0])
        return worst

    def insert_lines(self, session, rows):
        for first in range(0, rows, 2000):
            session.run('INSERT INTO bench_upkeep SELECT id, body FROM'
                        ' bench_upkeep_pool WHERE id >= %d AND id < %d' %
                        (first % self.pool, first % self.pool + 2000))

    def horizon(self):
        """The file beside what is live, while old snapshots are held."""
        s = self.s
        rows = 20000 if self.o.smoke else 1500000
        short = 50000 if self.o.smoke else 5000000
        lines = log_lines(self.o)
        self.pool = len(lines) // 2000 * 2000
        self.load(lines[:self.pool], False)
        s.run('DROP TABLE IF EXISTS bench_upkeep_pool')
        s.run('ALTER TABLE bench_upkeep RENAME TO bench_upkeep_pool')
        s.run('CREATE INDEX ON bench_upkeep_pool (id)')
        s.run('ANALYZE bench_upkeep_pool')
        out = []
        for name, holder, work in (
                ('idle transaction', self.idle, self.insert_lines),
                ('dump', self.dump, self.insert_lines),
                ('one INSERT of %d rows' % short, None,
                 lambda x, _: x.run(
                     "INSERT INTO bench_upkeep SELECT g, 'user ' || g %% 9973"
                     " || ' did ' || g %% 101 || ' in ' || g FROM"
                     " generate_series(1, %d) g" % short))):
            self.load([])
            other = Session(None)
            stop = threading.Event()
            thread = holder(stop) if holder else None
            worst = self.watch(lambda: work(other, rows))
            after = self.stats('file_pages', 'parked_pages')
            stop.set()
            if thread:
                thread.join()
            s.run('VACUUM bench_upkeep')
            ratio, live, pages = worst
            out.append([name, '%.2f' % ratio, '%.1f' % (live * BLOCK / 1e6),
                        '%.1f' % (pages * BLOCK / 1e6),
                        '%.1f' % (after[0] * BLOCK / 1e6),
                        '%.1f' % (after[1] * BLOCK / 1e6)])
            self.b.note('horizon', *out[-1])
            s.run("SELECT snii_check('bench_upkeep_i')")
            other.psql.stdin.close()
            other.psql.wait()
        print('## Size while a snapshot is held\n')
        table(['holder', 'highest file / live', 'live MB', 'file MB',
               'file MB at the end', 'parked MB at the end'], out)
        print('%d log lines in statements of 2000, or the INSERT itself;'
              ' live: neither free nor parked.\n' % rows)
        s.run('DROP TABLE bench_upkeep, bench_upkeep_pool')

    @staticmethod
    def idle(stop):
        """A snapshot and nothing else."""
        holder = Session(None)
        holder.run('BEGIN ISOLATION LEVEL REPEATABLE READ')
        holder.run('SELECT 1')

        def wait():
            stop.wait()
            holder.run('COMMIT')

        thread = threading.Thread(target=wait, daemon=True)
        thread.start()
        return thread

    @staticmethod
    def dump(stop):
        """As pg_dump: one snapshot, tables read slowly, row by row."""
        holder = Session(None)
        holder.run('BEGIN ISOLATION LEVEL REPEATABLE READ')
        holder.run('DECLARE c CURSOR FOR TABLE bench_upkeep_pool')

        def read():
            while not stop.wait(0.05):
                holder.run('MOVE 500 IN c')
                holder.run("SELECT count(*) FROM bench_upkeep"
                           " WHERE body ||| 'error'")
            holder.run('COMMIT')

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        return thread

    # --- buffer -----------------------------------------------------------

    def first_of(self, condition):
        """Time of the first query of a new connection."""
        fresh = Session(None)
        try:
            # The library and the catalogue are not what is measured.
            fresh.run("SELECT count(*) FROM bench_upkeep_other"
                      " WHERE body ||| 'error'")
            fresh.run('SET enable_seqscan = off')
            return fresh.timed('SELECT count(*) FROM bench_upkeep WHERE ' +
                               condition)[:2]
        finally:
            fresh.psql.stdin.close()
            fresh.psql.wait()

    def warm(self, condition):
        """A session that has seen the buffer often enough to know it."""
        text = 'SELECT count(*) FROM bench_upkeep WHERE ' + condition
        for _ in range(60 if not self.o.smoke else 2):
            self.s.run(text)
        runs = [self.s.timed(text)[:2] for _ in range(15)]
        return median([r[0] for r in runs]), median([r[1] for r in runs])

    def fill(self, lines):
        """Insert until the buffer is full; returns its bytes."""
        s = self.s
        limit = int(s.one("SELECT pg_size_bytes(current_setting("
                          "'snii.buffer_limit'))"))
        s.run('SET snii.workers = off')
        full = 0
        step = 500
        for i in range(0, 10 ** 6, step):
            s.run('INSERT INTO bench_upkeep SELECT id, body FROM'
                  ' bench_upkeep_other WHERE id >= %d AND id < %d' %
                  (i % len(lines), i % len(lines) + step))
            now = sum(self.stats('buffer_open_bytes', 'buffer_sealed_bytes'))
            if now < full or now > limit * 0.9:
                self.b.note('fill', i, full, now)
                break
            full = now
        s.run('RESET snii.workers')
        return sum(self.stats('buffer_open_bytes', 'buffer_sealed_bytes'))

    def buffer(self):
        """Queries with a full buffer and without one, of the same rows."""
        s = self.s
        lines = log_lines(self.o)
        if self.o.smoke:
            s.run("SET snii.buffer_limit = '256kB'")
        self.load(lines, False)
        s.run('DROP TABLE IF EXISTS bench_upkeep_other')
        s.run('ALTER TABLE bench_upkeep RENAME TO bench_upkeep_other')
        s.run('CREATE INDEX bench_upkeep_other_i ON bench_upkeep_other'
              ' USING snii (body)')
        s.run('CREATE INDEX ON bench_upkeep_other (id)')
        s.run('VACUUM ANALYZE bench_upkeep_other')
        self.load(lines)
        s.run('SET enable_seqscan = off')
        bytes_full = self.fill(lines)
        queries = choose_queries(lines)
        full = [(self.warm(c), [self.first_of(c) for _ in range(5)])
                for _, c in queries]
        still = sum(self.stats('buffer_open_bytes', 'buffer_sealed_bytes'))
        self.settle()
        empty = [(self.warm(c), [self.first_of(c) for _ in range(5)])
                 for _, c in queries]
        rows = []
        mb = bytes_full / (1 << 20)
        for (kind, condition), f, e in zip(queries, full, empty):
            first = [median([x[0] for x in r[1]]) for r in (f, e)]
            rows.append([kind, condition.replace('|', '\\|'),
                         '%.2f' % f[0][0], '%.2f' % e[0][0],
                         '%.2f' % (f[0][0] / e[0][0]),
                         '%.2f' % (f[0][1] / e[0][1]),
                         '%.2f' % first[0], '%.2f' % first[1],
                         '%.2f' % ((first[0] - first[1]) / mb)])
        print('## Search in a full buffer of %.1f MB\n' % mb)
        table(['class', 'condition', 'warm, full ms', 'empty ms', 'ratio',
               'ratio (CPU)', 'first, full ms', 'empty ms', 'ms per MB'],
              rows)
        if still != bytes_full:
            print('(the buffer was flushed meanwhile: %d bytes are left)\n' %
                  still)
        s.run('DROP TABLE bench_upkeep, bench_upkeep_other')
        s.run('RESET snii.buffer_limit')
        s.run('RESET enable_seqscan')

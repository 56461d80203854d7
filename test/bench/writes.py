"""Section "writes" of the benchmark: sustained single-row inserts.

Used by measure.py. Each arm is a fresh table into which bench_insert.c puts
log lines; what an index leaves to be done afterwards is awaited and counted.
"""
import collections
import os
import re
import subprocess
import threading
import time

from measure import HERE, Session, median, quantile, table

ARMS = ['bare', 'gin', 'snii', 'snii_dyn']
NAMES = {'bare': 'no index', 'gin': 'GIN, fastupdate', 'snii': 'snii',
         'snii_dyn': 'snii, not preloaded'}
DRAIN_LIMIT_S = 300
TICK = os.sysconf('SC_CLK_TCK')

# Frequency (share of the rows) that the words of queries are near to.
WORD_SHARES = (0.0005, 0.002, 0.01)

ESCAPES = {b't': b'\t', b'n': b'\n', b'r': b'\r', b'\\': b'\\'}


def unescape(field):
    """A column of COPY's text format as it was."""
    return re.sub(rb'\\(.)', lambda m: ESCAPES.get(m.group(1), m.group(1)),
                  field)


def records(command, column):
    """One column of what a shell command prints, without empty ones."""
    with subprocess.Popen(command, shell=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL) as p:
        for line in p.stdout:
            field = unescape(line.rstrip(b'\n').split(b'\t')[column])
            if field.strip():
                yield field


def log_lines(o):
    """Real log lines, two sources mixed; generated ones without SNII_DATA."""
    files = [(os.path.join(o.data, 'logs', name), column) for name, column in
             (('service_logs.tsv.zst', 3), ('zeek_wrccdc.tsv.zst', 4))]
    head = ' | head -n 2000' if o.smoke else ''
    if not o.data or not all(os.path.exists(f) for f, _ in files):
        rows = 2000 if o.smoke else 300000
        return list(records('%s/gen_logs.py %d 4' % (HERE, rows), 1))
    a, b = [list(records("zstd -dcq '%s'%s" % (f, head), c))
            for f, c in files]
    out = []
    for i in range(len(a) + len(b)):
        done = i / (len(a) + len(b))
        out.append(a.pop() if len(a) and
                   (not b or len(a) * (1 - done) >= len(b) * (1 - done) or
                    i % 2) else b.pop())
    return out


def documents(o, least, n):
    """n texts of at least so many bytes."""
    path = os.path.join(o.data, 'docs', 'books.tsv.zst') if o.data else ''
    if os.path.exists(path):
        source = records("zstd -dcq '%s'" % path, 5)
    else:
        source = records('%s/gen_logs.py %d 5' % (HERE, n * 8), 1)
    out = []
    text = b''
    for piece in source:
        text = text + b' ' + piece if text else piece
        if len(text) >= least:
            out.append(text)
            text = b''
            if len(out) == n:
                break
    return out


def words_of(text):
    return re.findall(r'(?<![\w.:/@-])[a-z]{3,20}(?![\w.:/@-])',
                      text.decode('utf-8', 'replace'))


def choose_queries(lines):
    """[(class, condition)]: words, ANDs and phrases of several frequencies."""
    sample = lines[::max(1, len(lines) // 20000)]
    rows = collections.Counter()
    pairs = collections.Counter()
    for text in sample:
        words = words_of(text)
        rows.update(set(words))
        pairs.update(set(zip(words, words[1:])))
    out = []
    for share in WORD_SHARES:
        want = share * len(sample)
        near = sorted(rows, key=lambda w: (abs(rows[w] - want), w))
        out.append(('word', "body ||| '%s'" % near[0]))
        joined = [p for p in pairs if p[0] != p[1]]
        a, b = min(joined, key=lambda p: (abs(pairs[p] - want), p))
        out.append(('AND', "body &&& '%s %s'" % (b, a)))
        out.append(('phrase', "body ### '%s %s'" % (a, b)))
    return out


def cpu_of(pid, children):
    with open('/proc/%d/stat' % pid) as f:
        fields = f.read().rsplit(')', 1)[1].split()
    ticks = [int(x) for x in fields[11:15]]
    return sum(ticks if children else ticks[:2]) / TICK, int(fields[1])


def server_cpu(backend):
    """CPU s of the server: postmaster, its children, and those that ended."""
    postmaster = cpu_of(backend, False)[1]
    total = cpu_of(postmaster, True)[0]
    for name in os.listdir('/proc'):
        if name.isdigit():
            try:
                cpu, parent = cpu_of(int(name), False)
            except OSError:
                continue
            if parent == postmaster:
                total += cpu
    return total


class QueryLoop(threading.Thread):
    """Asks the same queries again and again until it is stopped."""

    def __init__(self, queries):
        super().__init__(daemon=True)
        self.session = Session(None)
        self.session.run('SET enable_seqscan = off')
        self.queries = queries
        self.stop = threading.Event()
        self.found = []         # (when, number of the query, wall, CPU)

    def once(self, i):
        return self.session.timed('SELECT count(*) FROM bench_writes WHERE ' +
                                  self.queries[i][1])[:2]

    def run(self):
        i = 0
        while not self.stop.wait(0.01):
            wall, cpu = self.once(i)
            self.found.append((time.monotonic(), i, wall, cpu))
            i = (i + 1) % len(self.queries)


class Writes:
    def __init__(self, bench):
        self.b = bench
        self.o = bench.o
        self.program = os.path.join(self.o.work, 'out', 'bench_insert')
        self.texts = os.path.join(self.o.work, 'out', 'bench-lines.bin')
        self.arms = [a for a in ARMS if a in self.o.write_arms]
        if not self.o.ctl:
            self.arms = [a for a in self.arms if a != 'snii_dyn']

    def prepare(self):
        include = subprocess.run(['pg_config', '--includedir'], check=True,
                                 capture_output=True, text=True).stdout
        # Of a copy of the server, it may lack the client's headers.
        subprocess.run(['cc', '-O2', '-I', include.strip(),
                        '-I', '/usr/include/postgresql',
                        os.path.join(HERE, 'bench_insert.c'), '-o',
                        self.program, '-lpq', '-lpthread'], check=True)
        lines = log_lines(self.o)
        with open(self.texts, 'wb') as f:
            for text in lines:
                f.write(text + b'\0')
        self.queries = choose_queries(lines)
        print('%d log lines of %.0f bytes on average.\n' % (
            len(lines), sum(len(x) for x in lines) / len(lines)))

    def start(self, arm):
        """A server for the arm, an empty table, no work left over."""
        if self.o.ctl:
            self.b.restart(
                'ALTER SYSTEM RESET shared_preload_libraries'
                if arm == 'snii_dyn' else
                "ALTER SYSTEM SET shared_preload_libraries = 'snii'")
        s = self.b.s
        s.run('DROP TABLE IF EXISTS bench_writes')
        s.run('CREATE TABLE bench_writes (id bigint, body text)')
        if arm == 'gin':
            s.run('CREATE INDEX bench_writes_i ON bench_writes USING gin'
                  " (to_tsvector('simple', body)) WITH (fastupdate = on)")
        elif arm.startswith('snii'):
            s.run('CREATE INDEX bench_writes_i ON bench_writes'
                  ' USING snii (body)')
        s.run('CHECKPOINT')

    def drain(self, arm):
        """Wait for what the index left to be done."""
        s = self.b.s
        if arm == 'gin':
            s.run("SELECT gin_clean_pending_list('bench_writes_i')")
        elif arm.startswith('snii'):
            s.run("SELECT snii_flush('bench_writes_i')")
            end = time.monotonic() + DRAIN_LIMIT_S
            while s.one('SELECT merge_debt + buffer_open_bytes +'
                        " buffer_sealed_bytes FROM"
                        " snii_stats('bench_writes_i')") != '0':
                if time.monotonic() > end:
                    raise SystemExit('the debt of the index does not go away')
                time.sleep(0.02)

    def once(self, arm, clients, commit, during=None):
        s = self.b.s
        if during:
            during.start()
        cpu = server_cpu(s.pid)
        lsn = s.lsn()
        begin = time.monotonic()
        out = subprocess.run(
            [self.program, self.texts, str(clients), str(self.o.seconds),
             'INSERT INTO bench_writes VALUES ($1, $2)',
             'SET synchronous_commit = ' + commit],
            check=True, capture_output=True, text=True).stdout.split()
        loaded = time.monotonic()
        if during:
            during.stop.set()
            during.join()
        self.drain(arm)
        wall = time.monotonic() - begin
        r = {'rows': int(out[0]), 'wall': wall,
             'drain': time.monotonic() - loaded, 'loaded': loaded,
             'cpu': server_cpu(s.pid) - cpu, 'wal': s.lsn() - lsn,
             'latency': [int(x) / 1000 for x in out[2:6]],
             'stalls': int(out[6])}
        stats = ''
        if arm.startswith('snii'):
            stats = s.one("SELECT to_json(x) FROM"
                          " snii_stats('bench_writes_i') x")
        self.b.note('write', arm, clients, commit, r, stats)
        return r

    @staticmethod
    def row(arm, r, all_r):
        """A line of the table; index parts are differences to the bare."""
        bare, gin = all_r.get('bare'), all_r.get('gin')

        def per_row(x, key):
            return x[key] * 1e6 / x['rows']

        def part(x, key):
            return per_row(x, key) - per_row(bare, key)

        line = [NAMES[arm], '%.0f' % (r['rows'] / r['wall'])]
        line.append('%.2f' % (r['rows'] / r['wall'] /
                              (bare['rows'] / bare['wall'])) if bare else '')
        for key, scale in (('wall', 1), ('cpu', 1), ('wal', 1e6)):
            line.append('%.1f' % (per_row(r, key) / scale))
            if bare and arm != 'bare':
                line.append('%.1f' % (part(r, key) / scale))
                line.append('%.2f' % (part(r, key) / part(gin, key))
                            if gin and arm != 'gin' else '')
            else:
                line += ['', '']
        line += ['%.2f' % x for x in r['latency']]
        line += [r['stalls'], '%.1f' % r['drain']]
        return line

    def loads(self):
        for commit in self.o.commits:
            for clients in self.o.clients:
                runs = {}
                for i in range(self.o.write_runs):
                    order = self.arms if i % 2 == 0 else self.arms[::-1]
                    for arm in order:
                        self.start(arm)
                        runs.setdefault(arm, []).append(
                            self.once(arm, int(clients), commit))
                # The run in the middle by rows stands for an arm.
                runs = {a: sorted(r, key=lambda x: x['rows'])[len(r) // 2]
                        for a, r in runs.items()}
                print('### %s clients, synchronous_commit %s, %g s\n' % (
                    clients, commit, self.o.seconds))
                table(['arm', 'rows/s', 'of bare', 'us/row', 'added',
                       'ours / GIN', 'CPU us/row', 'added', 'ours / GIN',
                       'WAL B/row', 'added', 'ours / GIN', 'p50 ms', 'p99',
                       'p99.9', 'max', '> 250 ms', 'drain s'],
                      [self.row(a, runs[a], runs) for a in self.arms])

    def load_beside(self, clients, seconds):
        """The same load, on a table that has no index."""
        self.b.s.run('DROP TABLE IF EXISTS bench_beside')
        self.b.s.run('CREATE TABLE bench_beside (id bigint, body text)')
        subprocess.run(
            [self.program, self.texts, str(clients), str(seconds),
             'INSERT INTO bench_beside VALUES ($1, $2)',
             'SET synchronous_commit = off'],
            check=True, capture_output=True)
        self.b.s.run('DROP TABLE bench_beside')

    def queried(self, clients):
        """
        Query times within the last third of the load; at rest, merged; and
        so, while the same load goes on elsewhere. At the same pace, and
        without VACUUM, which would let count(*) leave out pages.
        """
        self.start('snii')
        loop = QueryLoop(self.queries)
        r = self.once('snii', clients, 'off', loop)
        part = self.o.seconds / 3
        found = {'busy': [x for x in loop.found if x[0] >= r['loaded'] - part]}
        self.b.s.run("SELECT snii_merge('bench_writes_i')")
        for name, work in (('quiet', lambda: time.sleep(part)),
                           ('beside', lambda: self.load_beside(clients,
                                                               part))):
            other = QueryLoop(self.queries)
            for i in range(len(self.queries)):
                other.once(i)
            other.start()
            work()
            other.stop.set()
            other.join()
            found[name] = other.found
        self.print_queried(clients, r, found)

    def print_queried(self, clients, r, found):
        rows = []
        ratios = []
        for i, (kind, condition) in enumerate(self.queries):
            mine = {n: [x for x in f if x[1] == i] for n, f in found.items()}
            if not all(mine.values()):
                continue
            wall = {n: median([x[2] for x in f]) for n, f in mine.items()}
            cpu = {n: median([x[3] for x in f]) for n, f in mine.items()}
            four = [x['busy'] / x[n] for n in ('quiet', 'beside')
                    for x in (wall, cpu)]
            ratios.append(four)
            rows.append([kind, condition.replace('|', '\\|'),
                         len(mine['busy'])] +
                        ['%.2f' % wall[n] for n in found] +
                        ['%.2f' % cpu[n] for n in found] +
                        ['%.2f' % quantile([x[2] for x in mine[n]], 0.99)
                         for n in found] + ['%.2f' % x for x in four])
        print('### Queries while %s clients insert %.0f rows/s\n' % (
            clients, r['rows'] / self.o.seconds))
        if ratios:
            rows.append(['median', '', ''] + [''] * 9 +
                        ['%.2f' % median([x[k] for x in ratios])
                         for k in range(4)])
        table(['class', 'condition', 'runs', 'busy ms', 'quiet', 'beside',
               'busy CPU ms', 'quiet', 'beside', 'busy p99 ms', 'quiet',
               'beside', 'busy / quiet', 'CPU', 'busy / beside', 'CPU'], rows)

    def run(self):
        print('## Single-row inserts\n')
        self.prepare()
        b = self.b
        b.settings_on(autovacuum='on', autovacuum_naptime='15s')
        if 'loads' in self.o.write_parts:
            self.loads()
        if 'queries' in self.o.write_parts:
            b.settings_on(autovacuum='off')
            for clients in self.o.clients:
                self.queried(int(clients))
        if self.o.ctl:
            b.restart('ALTER SYSTEM RESET shared_preload_libraries')
        b.s.run('DROP TABLE IF EXISTS bench_writes')
        b.settings_off('autovacuum', 'autovacuum_naptime')

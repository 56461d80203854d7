"""What the sections of build_parallel.py share: sessions, corpora, watches.

Python's standard library, psql and zstd (for the corpora of SNII_DATA) are
all that is needed.
"""
import glob
import os
import statistics
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MB = 1024 * 1024

# Files below SNII_DATA, the column of the text, and rows (0: all).
FILES = {
    'books': ('docs/books.tsv.zst', 6, 0),
    'debian': ('docs/debian_descriptions.tsv.zst', 5, 0),
    'windows': ('logs/windows_events.tsv.zst', 7, 150000),
    'zeek': ('logs/zeek_wrccdc.tsv.zst', 5, 0),
}
MADE = ['logs', 'short', 'few', 'unique', 'ulogs']

# SQL that makes the text of row g. Words of "few" are 200, all of "unique"
# come once; "ulogs" are log lines with 6 words of few and 12 that come once.
TEXTS = {
    'few': "(SELECT string_agg('w' || (random() * 200)::int, ' ')"
           " FROM generate_series(1, 20) w WHERE g > 0)",
    'unique': "(SELECT string_agg(md5((g * 20 + w)::text), ' ')"
              " FROM generate_series(1, 20) w WHERE g > 0)",
    'ulogs': "'INFO service stock' || g % 7 || ' request ' || (SELECT"
             " string_agg(md5((g * 12 + w)::text), ' ')"
             " FROM generate_series(1, 12) w WHERE g > 0) ||"
             " ' status ' || 200 + g % 5",
}


class Premise(SystemExit):
    """Something that the figures rest on does not hold: they are worthless."""

    def __init__(self, text):
        super().__init__('PREMISE FAILED: ' + text)


def psql(text, fail=True):
    r = subprocess.run(['psql', '-XAtq', '-v', 'ON_ERROR_STOP=1'], input=text,
                       capture_output=True, text=True)
    if r.returncode != 0 and fail:
        sys.exit(f'{text}\n{r.stderr}')
    return r.stdout.strip()


class Session:
    """One psql and its backend."""

    def __init__(self, settings=None):
        self.p = subprocess.Popen(
            ['psql', '-XAtq', '-v', 'ON_ERROR_STOP=0'],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, bufsize=1)
        self.pid = int(self.run('SELECT pg_backend_pid()')[-1])
        for k, v in (settings or {}).items():
            self.run(f"SET {k} = '{v}'")

    def run(self, text, fail=True):
        """Lines of output. A statement that fails ends the run, or, without
        fail, leaves its message among them."""
        self.p.stdin.write(text + ';\n\\echo #done\n')
        self.p.stdin.flush()
        lines = []
        for line in self.p.stdout:
            line = line.rstrip('\n')
            if line == '#done':
                break
            lines.append(line)
        else:
            if fail:
                sys.exit(f'{text}\nthe session ended\n' + '\n'.join(lines))
            return lines
        bad = any(x.startswith(('ERROR:', 'FATAL:', 'PANIC:')) for x in lines)
        if bad and fail:
            sys.exit(f'{text}\n' + '\n'.join(lines))
        return lines

    def end(self):
        try:
            self.p.stdin.close()
        except OSError:
            pass
        self.p.wait()
        self.p.stdout.close()


# --- corpora --------------------------------------------------------------

def corpora(data):
    """Names of the corpora that can be had."""
    have = [c for c, (f, *_) in FILES.items()
            if data and os.path.exists(os.path.join(data, f))]
    return have + MADE[:-1]


def copy_from(table, command):
    """COPY what a command prints (id, text) into the table."""
    r = subprocess.run(['bash', '-c', f'set -o pipefail; {command} | psql -Xq'
                        f' -v ON_ERROR_STOP=1 -c "COPY {table} FROM STDIN"'])
    if r.returncode != 0:
        sys.exit(f'{command}: failed')


def command_of(corpus, rows, data, seed=1, first=1):
    """A shell command that prints rows of a corpus as "id TAB text"."""
    if corpus in FILES:
        path, column, limit = FILES[corpus]
        cut = f'| head -n {rows or limit}' if rows or limit else ''
        # head closes the pipe early, which is no failure
        return (f"(zstd -dcq '{os.path.join(data, path)}' 2>/dev/null || true)"
                f" {cut} | cut -f 1,{column}")
    # a long line is one with base64
    keep = "| awk 'length($0) < 2000'" if corpus == 'short' else ''
    return f"python3 '{HERE}/gen_logs.py' {rows} {seed} {first} {keep}"


def load(corpus, args, table=None, rows=0):
    """Make table bench_build_CORPUS (with --keep, unless it is there);
    returns the bytes of its text. Corpora that come from files have
    --real-rows rows, or all."""
    table = table or f'bench_build_{corpus}'
    rows = rows or args.rows
    if args.keep and psql(f"SELECT to_regclass('{table}')"):
        return int(psql(f'SELECT sum(octet_length(body)) FROM {table}'))
    psql(f'DROP TABLE IF EXISTS {table};'
         f'CREATE UNLOGGED TABLE {table} (id bigint, body text)')
    if corpus in TEXTS:
        psql(f'INSERT INTO {table} SELECT g, {TEXTS[corpus]}'
             f' FROM generate_series(1, {rows}) g')
    else:
        copy_from(table, command_of(
            corpus, args.real_rows if corpus in FILES else rows, args.data))
    psql(f'VACUUM ANALYZE {table}')
    return int(psql(f'SELECT sum(octet_length(body)) FROM {table}'))


def drop(corpus, args):
    if not args.keep:
        psql(f'DROP TABLE bench_build_{corpus}')


# --- builds ---------------------------------------------------------------

COLUMNS = ['workers_launched', 'documents', 'tokens', 'runs', 'forced_spills',
           'memory_peak', 'reporter_calls', 'limiter_calls', 'shared_writes',
           'cpu_ms', 'cpu_max_ms']


def build(corpus, settings, watch=None):
    """Build an index; what snii_last_build says, and seconds."""
    psql('CHECKPOINT')
    s = Session(settings)
    # the session is warm: the library is loaded, the catalogs are read
    s.run("LOAD 'snii'; SELECT count(*) FROM snii_memory")
    s.run('CREATE TEMP TABLE warm (a text); CREATE INDEX ON warm USING snii (a)')
    if watch:
        watch.begin(s.pid)
    others = Others(int(stat_of(s.pid)[1]))
    start = time.monotonic()
    s.run(f'CREATE INDEX bench_build_i ON bench_build_{corpus}'
          ' USING snii (body)')
    seconds = time.monotonic() - start
    others = others.end(seconds)
    if watch:
        watch.end()
    row = s.run(f"SELECT {', '.join(COLUMNS)} FROM snii_last_build()")[-1]
    s.run('DROP INDEX bench_build_i')
    s.end()
    result = dict(zip(COLUMNS, map(float, row.split('|'))))
    result['seconds'] = seconds
    result['others'] = others
    return result


PARALLEL = {'min_parallel_table_scan_size': '64kB'}


def participants(n, **settings):
    """Settings of a session whose builds have n participants."""
    return dict(PARALLEL, max_parallel_maintenance_workers=n - 1, **settings)


def median(runs, key=None):
    return statistics.median(r[key] if key else r for r in runs)


# --- premises -------------------------------------------------------------

LEFT = """SELECT (SELECT count(*) FROM pg_ls_dir('base/pgsql_tmp', true,
 false)) || ' ' || (SELECT count(*) FROM snii_memory WHERE pid IS NOT NULL)
 || ' ' || (SELECT published FROM snii_memory WHERE pid IS NULL)"""


def check_clean(what, seconds=60):
    """No temporary file, no writer, no byte that is counted: else the run
    ends. Background workers get some time to finish."""
    end = time.monotonic() + seconds
    while True:
        left = psql(LEFT)
        if left == '0 0 0':
            return
        if time.monotonic() > end:
            raise Premise('%s: temporary files, writers and bytes that are'
                          ' left: %s' % (what, left))
        time.sleep(0.2)


def check_index(index):
    psql(f"SELECT snii_check('{index}')")


# --- processes ------------------------------------------------------------

def stat_of(pid):
    """Fields of /proc/PID/stat behind the name, or None."""
    try:
        with open(f'/proc/{pid}/stat') as f:
            return f.read().rsplit(')', 1)[1].split()
    except OSError:
        return None


def children(pid):
    try:
        with open(f'/proc/{pid}/task/{pid}/children') as f:
            return [int(x) for x in f.read().split()]
    except OSError:
        pass
    found = []
    for path in glob.glob('/proc/[0-9]*/stat'):
        child = int(path.split('/')[2])
        fields = stat_of(child)
        if fields and int(fields[1]) == pid:
            found.append(child)
    return found


def postmaster():
    """Its process id; the server is on this machine."""
    fields = stat_of(int(psql('SELECT pg_backend_pid()') or 0))
    if fields:                  # still there
        return int(fields[1])
    with open(os.path.join(psql('SHOW data_directory'),
                           'postmaster.pid')) as f:
        return int(f.readline())


def server_cpu(pid):
    """Processor time of a server so far, in seconds: the postmaster, its
    processes that have ended (by the 10 ms) and those that have not."""
    tick = os.sysconf('SC_CLK_TCK')
    fields = stat_of(pid)
    total = sum(map(int, fields[11:15])) / tick
    for child in children(pid):
        try:
            with open(f'/proc/{child}/schedstat') as f:
                total += int(f.read().split()[0]) / 1e9
        except OSError:
            pass
    return total


class Others:
    """Processors that others than a server kept busy, the host of a virtual
    machine included. A build by two suffers from each, one by one does not."""

    def __init__(self, pid):
        self.pid = pid
        self.busy, self.server = self.read(), server_cpu(pid)

    @staticmethod
    def read():
        with open('/proc/stat') as f:
            n = [int(x) for x in f.readline().split()[1:9]]
        # all but idle and waiting for a disk
        return (sum(n) - n[3] - n[4]) / os.sysconf('SC_CLK_TCK')

    def end(self, seconds):
        other = self.read() - self.busy - server_cpu(self.pid) + self.server
        return max(0, other) / seconds


def memory_of(pid):
    """(Private_Dirty and swap, anonymous and swap) in bytes; 0 if gone."""
    dirty = anonymous = 0
    try:
        with open(f'/proc/{pid}/smaps_rollup') as f:
            for line in f:
                name, _, rest = line.partition(':')
                if name in ('Private_Dirty', 'Swap'):
                    dirty += int(rest.split()[0]) * 1024
                if name in ('Pss_Anon', 'Swap'):
                    anonymous += int(rest.split()[0]) * 1024
    except (OSError, IndexError):
        return 0, 0
    return dirty, anonymous


class Holder:
    """A session that has all shared buffers in its address space. Otherwise a
    page of them that no other process has touched yet would be private to
    the first one that does."""

    def __init__(self):
        psql('CREATE EXTENSION IF NOT EXISTS pg_prewarm')
        self.s = Session()
        size = int(self.s.run("SELECT pg_size_bytes(current_setting("
                              "'shared_buffers'))")[-1])
        table = 'bench_build_holder'
        self.s.run(f'DROP TABLE IF EXISTS {table}')
        self.s.run(f'CREATE UNLOGGED TABLE {table} (a text)')
        self.s.run(f'ALTER TABLE {table} ALTER a SET STORAGE PLAIN')
        self.s.run(f"INSERT INTO {table} SELECT repeat('x', 7000) FROM"
                   f" generate_series(1, {size // 8192 * 9 // 8})")
        for _ in range(4):
            self.s.run(f"SELECT pg_prewarm('{table}')")
            have = self.shared()
            if have >= size:
                break
        self.s.run(f'DROP TABLE {table}')
        if have < size:
            raise Premise('only %d of %d MB of shared buffers are mapped by'
                          ' a second process' % (have // MB, size // MB))

    def shared(self):
        with open(f'/proc/{self.s.pid}/status') as f:
            for line in f:
                if line.startswith('RssShmem:'):
                    return int(line.split()[1]) * 1024
        return 0

    def end(self):
        self.s.end()


class Watch(threading.Thread):
    """Highest growth of private memory since begin(), of a leader and its
    workers, looked at every 20 ms. Of a worker everything is growth."""

    def begin(self, pid):
        self.pid, self.on, self.looks = pid, True, 0
        self.before = memory_of(pid)
        self.peak = [0, 0]
        self.postmaster = int(stat_of(pid)[1])
        self.known = {}
        self.start()

    def workers(self):
        for child in children(self.postmaster):
            if child not in self.known:
                try:
                    with open(f'/proc/{child}/cmdline') as f:
                        name = f.read()
                except OSError:
                    continue
                if 'parallel worker for PID %d' % self.pid in name:
                    self.known[child] = True
                elif name.startswith('postgres: '):
                    self.known[child] = False
        return [p for p, mine in self.known.items() if mine]

    def look(self):
        sizes = [memory_of(p) for p in [self.pid] + self.workers()]
        for i in range(2):
            growth = sum(s[i] for s in sizes) - self.before[i]
            self.peak[i] = max(self.peak[i], growth)
        self.looks += 1

    def run(self):
        while self.on:
            began = time.monotonic()
            self.look()
            time.sleep(max(0.001, 0.02 - (time.monotonic() - began)))

    def end(self):
        self.on = False
        self.join()

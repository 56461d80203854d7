"""Section price of build_parallel.py: what the accounting of memory costs.

Three arms, each a build of the library (SNII_BENCH_LIBS, made by
test/bench/build), taking turns: none (SNII_NO_MEM_ACCOUNTING=1), steps (as it
is) and every (SNII_MEM_EVERY_CHANGE=1 and snii.memory_step = 0: each term and
each slice of postings tells everybody and asks the limiter, as it was done
where this comes from). Log rows of mostly unique terms are built into, and
loaded into tables with, ten indexes by several clients at once.

The judges are counts of calls and instructions, by callgrind in a server of
one process, and processor time. The accounting takes no lock; what waits of
the clients there were is shown by samples of their wait events and by the
times that a process gave up its processor.
Parts: counts, builds, loads.
"""
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time

from build_common import (TEXTS, Premise, Session, check_clean, children,
                          median, postmaster, psql, server_cpu)

PARTS = ['counts', 'builds', 'loads']
ARMS = ['none', 'steps', 'every']
TABLE = 'bench_price'
TABLES, INDEXES = 3, 10
AIM_CPU, AIM_TIMES = 1.0, 100


# --- arms -----------------------------------------------------------------

class Library:
    """Changes the server's library; without other builds of it, only the
    setting of the step is changed."""

    def __init__(self, args):
        self.args, self.now = args, 'steps'
        self.can = bool(args.libs and args.ctl)
        if not self.can and not args.smoke:
            raise Premise('section price needs three builds of the library'
                          ' and pg_ctl: start it by test/bench/build')
        self.arms = ARMS if self.can else ARMS[1:]
        self.path = psql("SELECT setting || '/snii.so' FROM pg_config WHERE"
                         " name = 'PKGLIBDIR'")

    def stop(self):
        self.control('stop')

    def control(self, what):
        r = subprocess.run(['bash', '-c', f'{self.args.ctl} {what}'],
                           capture_output=True, text=True, cwd='/')
        if r.returncode != 0:
            raise SystemExit(f'{what}: {r.stdout}{r.stderr}')

    def put(self, arm):
        new = self.path + '.new'
        shutil.copy(os.path.join(self.args.libs, arm + '.so'), new)
        os.chmod(new, 0o755)
        os.replace(new, self.path)
        self.now = arm

    def use(self, arm):
        """The server runs with that library and setting."""
        if self.can:
            self.stop()
            self.put(arm)
            self.control('start')
        psql('ALTER SYSTEM SET snii.memory_step = %s' % (
            "'0'" if arm == 'every' else "'1MB'"))
        psql('SELECT pg_reload_conf()')
        check_clean(arm)

    def end(self):
        self.use('steps')
        psql('ALTER SYSTEM RESET snii.memory_step; SELECT pg_reload_conf()')


# --- work -----------------------------------------------------------------

def fill(rows):
    psql(';'.join(f'DROP TABLE IF EXISTS {TABLE}_{t}; CREATE TABLE {TABLE}_{t}'
                  f' AS SELECT g AS id, {TEXTS["ulogs"]} AS body'
                  f' FROM generate_series(1, {rows}) g'
                  for t in range(TABLES)))
    psql('VACUUM ANALYZE')


class Waits(threading.Thread):
    """Samples of what client and worker processes wait for."""

    def __init__(self):
        super().__init__(daemon=True)
        self.seen, self.samples, self.on = {}, 0, True
        self.session = Session()
        self.start()

    def run(self):
        while self.on:
            for line in self.session.run(
                    "SELECT coalesce(wait_event_type, 'runs') || ' ' ||"
                    " coalesce(wait_event, '') FROM pg_stat_activity WHERE"
                    " pid <> pg_backend_pid() AND (state = 'active' OR"
                    " backend_type LIKE 'snii%')"):
                self.samples += 1
                self.seen[line] = self.seen.get(line, 0) + 1
            time.sleep(0.01)

    def end(self):
        self.on = False
        self.join()
        self.session.end()

    def locks(self):
        """Per cent of samples that wait for a lock of any kind."""
        n = sum(v for k, v in self.seen.items()
                if k.startswith(('LWLock', 'Lock', 'BufferPin')))
        return 100.0 * n / max(1, self.samples)


def switches(pid):
    """Times that processes of the server that are there gave up waiting."""
    total = 0
    for child in children(pid):
        try:
            with open(f'/proc/{child}/status') as f:
                m = re.search(r'^voluntary_ctxt_switches:\s+(\d+)', f.read(),
                              re.M)
                total += int(m.group(1))
        except OSError:
            pass
    return total


class Client(threading.Thread):
    """Runs statements that it takes from a list."""

    def __init__(self, jobs, after):
        super().__init__(daemon=True)
        self.jobs, self.after, self.said = jobs, after, []
        self.session = Session()

    def run(self):
        while True:
            try:
                job = self.jobs.pop()
            except IndexError:
                return
            self.session.run(job)
            if self.after:
                self.said += self.session.run(self.after)


def at_once(jobs, clients, after=''):
    """Run them; (CPU s of the server, s, what was said, waits, switches)."""
    pid = postmaster()
    threads = [Client(jobs, after) for _ in range(clients)]
    waits = Waits()
    cpu, began, gave = server_cpu(pid), time.monotonic(), switches(pid)
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    seconds = time.monotonic() - began
    gave = switches(pid) - gave
    for t in threads:
        t.session.end()
    check_clean('price', 120)
    cpu = server_cpu(pid) - cpu
    waits.end()
    return cpu, seconds, [x for t in threads for x in t.said], waits, gave


def builds(clients, rows):
    """30 builds, ten of each table."""
    jobs = [f'CREATE INDEX {TABLE}_{t}_{i} ON {TABLE}_{t} USING snii (body)'
            for i in range(INDEXES) for t in range(TABLES)]
    result = at_once(jobs, clients, "SELECT concat_ws(' ', tokens,"
                     " reporter_calls, limiter_calls, shared_writes)"
                     ' FROM snii_last_build()')
    psql(';'.join(f'DROP INDEX {TABLE}_{t}_{i}' for i in range(INDEXES)
                  for t in range(TABLES)))
    return result


def loads(clients, rows):
    """Rows of one table, in batches of 250, into one with ten indexes."""
    psql(f'DROP TABLE IF EXISTS {TABLE}_load;'
         f'CREATE TABLE {TABLE}_load (LIKE {TABLE}_0);' +
         ';'.join(f'CREATE INDEX ON {TABLE}_load USING snii (body)'
                  for _ in range(INDEXES)))
    jobs = [f'INSERT INTO {TABLE}_load SELECT * FROM {TABLE}_0 WHERE'
            f' id > {first} AND id <= {first + 250}'
            for first in range(0, rows, 250)]
    psql(f'CREATE INDEX IF NOT EXISTS {TABLE}_id ON {TABLE}_0 (id)')
    result = at_once(jobs, clients)
    psql(f'DROP TABLE {TABLE}_load')
    return result


def timed(library, args, part, rows):
    """The arms by the clock of the processor, for each number of clients."""
    work = {'builds': builds, 'loads': loads}[part]
    print('\n### %s, processor time\n\n| clients | arm | CPU s | more than'
          ' none | all runs | s | calls of reporters | of the limiter |'
          ' shared writes | lock waits, %% of samples | processor given up |'
          ' |' % part.capitalize())
    print('| --: | --- ' + '| --: ' * 9 + '| --- |')
    for clients in args.clients:
        got = {arm: [] for arm in library.arms}
        for _ in range(args.runs):
            for arm in library.arms:
                library.use(arm)
                got[arm].append(work(clients, rows))
        cpu = {arm: median([r[0] for r in got[arm]]) for arm in got}
        for arm, runs in got.items():
            counts = [list(map(int, x.split())) for x in runs[-1][2]]
            # each row: text of 18 terms, or "tokens" of the builds
            terms = (sum(c[0] for c in counts) or rows * 18 * INDEXES) / 1e6
            per = ['%.0f' % (sum(c[k] for c in counts) / terms) if counts
                   else '' for k in (1, 2, 3)]
            more = (cpu[arm] / cpu['none'] - 1) * 100 if 'none' in cpu else 0
            print('| %d | %s | %.2f | %+.1f %% | %s | %.2f | %s | %s | %s |'
                  ' %.1f | %.0f | %s |' % (
                      clients, arm, cpu[arm], more,
                      ' '.join('%.2f' % r[0] for r in runs),
                      median([r[1] for r in runs]), *per,
                      median([r[3].locks() for r in runs]),
                      median([r[4] for r in runs]) / terms,
                      'missed' if arm == 'steps' and more > AIM_CPU else ''),
                  flush=True)
    print('\nCalls, writes and times that a processor was given up: for a'
          ' million terms.')


# --- counts ---------------------------------------------------------------

WATCHED = ['snii_mem_reserve', 'snii_mem_release', 'snii_mem_arena',
           'snii_mem_limiter_publish', 'snii_mem_limiter_arena']


def read_callgrind(path):
    """(instructions, {function: calls}) of an output file."""
    total, names, calls, callee = 0, {}, {}, None
    with open(path) as f:
        for line in f:
            if line.startswith(('totals:', 'summary:')):
                total = int(line.split()[1])
            elif line.startswith(('fn=', 'cfn=')):
                m = re.match(r'(c?)fn=\((\d+)\)(?: (.*))?', line)
                if m.group(3):
                    names[m.group(2)] = m.group(3)
                callee = m.group(2) if m.group(1) else callee
            elif line.startswith('calls='):
                n = int(line[6:].split()[0])
                calls[callee] = calls.get(callee, 0) + n
    found = {}
    for ident, n in calls.items():
        name = re.sub(r"[.'].*", '', names.get(ident, ''))
        found[name] = found.get(name, 0) + n
    return total, found


def single(args, toggle, sql, folder):
    """Instructions and calls of what runs below a function."""
    out = os.path.join(folder, 'callgrind.out')
    command = args.single.replace(
        'callgrind ', 'callgrind --collect-atstart=no --dump-instr=no'
        f' --toggle-collect={toggle} --callgrind-out-file={out} ', 1)
    r = subprocess.run(['bash', '-c', f'{command} postgres'], input=sql,
                       capture_output=True, text=True, cwd='/')
    if not os.path.exists(out) or 'ERROR' in r.stderr:
        raise SystemExit(f'{command}\n{r.stdout[-2000:]}{r.stderr[-2000:]}')
    result = read_callgrind(out)
    os.unlink(out)
    return result


def counts(library, args, rows):
    """Instructions and calls of one build and of the load of one table."""
    if not library.can or not args.single:
        print('\n(counts need three builds of the library and valgrind)')
        return
    print('\n### Instructions and calls, one process, for a million terms\n\n'
          '| work | arm | million instructions | more than none | calls of'
          ' reporters | of the limiter | shared writes |  |')
    print('| --- | --- ' + '| --: ' * 5 + '| --- |')
    rows = min(rows, 20000)
    # each with a budget that it passes, so that spills are in it, too
    work = {'build': ('snii_am_build', "SET maintenance_work_mem = '8MB'\n"
                      f'CREATE INDEX {TABLE}_x ON {TABLE}_0'
                      f' USING snii (body) WHERE id <= {rows}\n'
                      f'DROP INDEX {TABLE}_x\n'),
            'load': ('snii_am_insert', f'INSERT INTO {TABLE}_c SELECT * FROM'
                     f' {TABLE}_0 WHERE id <= {rows}\n')}
    psql(f'DROP TABLE IF EXISTS {TABLE}_c; CREATE TABLE {TABLE}_c'
         f' (LIKE {TABLE}_0); CREATE INDEX ON {TABLE}_c USING snii (body)')
    terms = int(psql("SELECT sum(array_length(regexp_split_to_array(body,"
                     f" ' '), 1)) FROM {TABLE}_0 WHERE id <= {rows}")) / 1e6
    folder = tempfile.mkdtemp()
    os.chmod(folder, 0o777)
    for name, (toggle, sql) in work.items():
        got = {}
        for arm in library.arms:
            library.use(arm)
            psql(f'TRUNCATE {TABLE}_c; CHECKPOINT')
            library.stop()
            got[arm] = single(args, toggle, sql, folder)
            library.control('start')
        show_counts(name, got, terms)
    os.rmdir(folder)


def show_counts(name, got, terms):
    shared = {}
    for arm, (instructions, calls) in got.items():
        n = [calls.get(f, 0) for f in WATCHED]
        # the limiter is told of an arena by one write
        shared[arm] = n[3] + n[4]
        more = (instructions / got['none'][0] - 1) * 100
        note = ''
        if arm == 'steps' and more > AIM_CPU:
            note = 'missed'
        if arm == 'every':
            times = shared[arm] / max(1, shared['steps'])
            note = '%.0f times the shared writes%s' % (
                times, '' if times >= AIM_TIMES else ': missed')
        print('| %s | %s | %.0f | %+.2f %% | %.0f | %.0f | %.0f | %s |' % (
            name, arm, instructions / terms / 1e6, more,
            (n[0] + n[1] + n[2]) / terms, n[4] / terms, shared[arm] / terms,
            note), flush=True)
    if got['none'][1].get('snii_mem_limiter_publish', 0) > 0:
        raise Premise('the library without the accounting has it')


def run(args):
    parts = [p for p in args.parts if p in PARTS] or PARTS
    rows = 1500 if args.smoke else 60000
    library = Library(args)
    print('## Price of the accounting\n\n%d log rows of 18 terms, of which 12'
          ' come once; 30 builds (ten of each of three tables), or loads of a'
          ' table with ten indexes; medians of %d' % (rows, args.runs))
    fill(rows)
    try:
        if 'counts' in parts:
            counts(library, args, rows)
        for part in ('builds', 'loads'):
            if part in parts:
                timed(library, args, part, rows)
    finally:
        library.end()
    psql(';'.join(f'DROP TABLE {TABLE}_{t}' for t in range(TABLES)) +
         f';DROP TABLE IF EXISTS {TABLE}_c')

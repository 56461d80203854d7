"""Section spills of build_parallel.py: next to no memory, 16 at a time.

The limit of all builds and the floor of forced spills are 1 MiB (so the limit
is what it is at least, four budgets). 16 builds, 16 loads of tables with an
index, and 8 of each run over log rows; they must spill because they are asked
to, say that it does not suffice, finish, answer as a sequential scan and GIN
do, and leave nothing. Then 16 are cancelled in the middle, and one is killed
with signal 9. Parts: builds, loads, both, cancel, kill.
"""
import os
import re
import signal
import threading
import time

from build_common import (LEFT, Premise, Session, check_clean, check_index,
                          copy_from, command_of, psql)

PARTS = ['builds', 'loads', 'both', 'cancel', 'kill']
CLIENTS = 16
TABLE = 'bench_spill'
SETTINGS = ('snii.build_memory_limit', 'snii.forced_spill_min_arena',
            'snii.max_workers')

COUNT = ("SELECT count(*) || ' ' || coalesce(md5(string_agg(id::text, ','"
         " ORDER BY id)), '') FROM {} WHERE {}")


def prepare(args):
    rows = 12000 if args.smoke else min(args.rows, 100000)
    psql(f'DROP TABLE IF EXISTS {TABLE}; CREATE TABLE {TABLE}'
         ' (id bigint, body text, word text)')
    copy_from(f'{TABLE} (id, body)', command_of('logs', rows, args.data))
    psql(f"UPDATE {TABLE} SET word = substring(body from '([a-z]+)$');"
         f"CREATE INDEX {TABLE}_gin ON {TABLE} USING"
         " gin (to_tsvector('simple', body));"
         f"VACUUM ANALYZE {TABLE};"
         "ALTER SYSTEM SET snii.build_memory_limit = '1MB';"
         "ALTER SYSTEM SET snii.forced_spill_min_arena = '1MB';"
         "ALTER SYSTEM SET snii.max_workers = 4;"
         'SELECT pg_reload_conf()')
    return rows


def restore():
    for name in SETTINGS:
        psql(f'ALTER SYSTEM RESET {name}')
    psql('SELECT pg_reload_conf()')


# --- answers --------------------------------------------------------------

def conditions():
    """(for snii, for GIN or None), of plain words, which both cut alike."""
    often, other, rare, pair = psql(f"""
WITH l AS MATERIALIZED (SELECT body, word FROM {TABLE}
    WHERE body !~ 'payload=' AND length(word) > 3),
  w AS (SELECT word, count(*) AS n FROM l GROUP BY 1)
SELECT (SELECT string_agg(word, '|') FROM
    (SELECT word FROM w ORDER BY n DESC, word LIMIT 2) s),
  (SELECT word FROM w ORDER BY n, word LIMIT 1),
  (SELECT min(substring(body from '([a-z]{{4,}} [a-z]{{4,}})$')) FROM l)
""").split('|')
    a, b = pair.split()
    return [(f"body ||| '{often} {rare}'", f"'{often} | {rare}'"),
            (f"body &&& '{often} {other}'", f"'{often} & {other}'"),
            (f"body ### '{pair}'", f"'{a} <-> {b}'"),
            (f"body ||| '{rare}'", f"'{rare}'"),
            (f"body &&& '{often}' AND NOT body ||| '{other}'",
             f"'{often} & !{other}'"),
            (f"word ||| '{often}'", None), (f"word ||| '{rare}'", None)]


def answers(table, wheres, way):
    off = ('indexscan', 'bitmapscan') if way == 'seq' else ('seqscan',)
    return psql(''.join(f'SET enable_{x} = off;' for x in off) + ';'.join(
        COUNT.format(table, w) for w in wheres)).splitlines()


def truths():
    """Conditions and what a sequential scan says of them, which GIN must
    say, too."""
    cases = conditions()
    wheres = [w for w, _ in cases]
    truth = answers(TABLE, wheres, 'seq')
    if any(t.startswith('0 ') for t in truth):
        raise Premise('a condition has no rows: %s %s' % (wheres, truth))
    gin = answers(TABLE, ["to_tsvector('simple', body) @@ to_tsquery("
                          f"'simple', {g})" for _, g in cases if g], 'index')
    want = [t for t, (_, g) in zip(truth, cases) if g]
    if gin != want:
        raise Premise(f'GIN says {gin}, a sequential scan {want}')
    return wheres, truth


# --- work -----------------------------------------------------------------

class Work(threading.Thread):
    """A session and the statements that it runs."""

    def __init__(self, statements):
        super().__init__(daemon=True)
        self.session = Session({'maintenance_work_mem': '4MB'})
        self.statements, self.said, self.error = statements, [], ''
        self.start()

    def run(self):
        for s in self.statements:
            lines = self.session.run(s, fail=False)
            bad = [x for x in lines if re.match('ERROR|FATAL|WARNING|server '
                                                'closed|.*connection', x)]
            self.said += lines
            if bad:
                self.error = bad[0]
                break
        self.session.end()


def a_build(i):
    return [f'CREATE INDEX {TABLE}_i{i} ON {TABLE}'
            ' USING snii (body, word text_keyword_ops)',
            "SELECT 'forced ' || forced_spills || ' runs ' || runs"
            ' FROM snii_last_build()']


def a_load(i):
    t = f'{TABLE}_l{i}'
    return ([f'CREATE TABLE {t} (LIKE {TABLE})',
             f'CREATE INDEX {t}_i ON {t} USING snii'
             ' (body, word text_keyword_ops)'] +
            [f'INSERT INTO {t} SELECT * FROM {TABLE} WHERE id % 10 = {k}'
             for k in range(10)])


def statements(part):
    builds = {'builds': CLIENTS, 'loads': 0}.get(part, CLIENTS // 2)
    return ([a_build(i) for i in range(builds)] +
            [a_load(i) for i in range(builds, CLIENTS)])


def spooled(works, seconds=120):
    """Wait until there is a temporary file; false if all have finished."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if int(psql(LEFT).split()[0]) > 0:
            return True
        if not any(w.is_alive() for w in works):
            return False
        time.sleep(0.01)
    return False


def clear():
    psql(''.join(f'DROP INDEX IF EXISTS {TABLE}_i{i};'
                 f'DROP TABLE IF EXISTS {TABLE}_l{i};'
                 for i in range(CLIENTS)))


def log_size(args):
    return os.path.getsize(args.log) if args.log else 0


def logged(args, since):
    if not args.log:
        return ''
    with open(args.log, errors='replace') as f:
        f.seek(since)
        return f.read()


def compare(works, wheres, truth):
    """Every index that was made answers as a sequential scan does."""
    for i in range(CLIENTS):
        if psql(f"SELECT to_regclass('{TABLE}_i{i}')"):
            check_index(f'{TABLE}_i{i}')
        elif psql(f"SELECT to_regclass('{TABLE}_l{i}_i')"):
            check_index(f'{TABLE}_l{i}_i')
            got = answers(f'{TABLE}_l{i}', wheres, 'index')
            if got != truth:
                raise Premise(f'load {i}: {got}, not {truth}')
    # one index at a time, so that it is known which one answers
    built = [i for i in range(CLIENTS)
             if psql(f"SELECT to_regclass('{TABLE}_i{i}')")]
    for i in built:
        got = answers(TABLE, wheres, 'index')
        if got != truth:
            raise Premise(f'build {built}: {got}, not {truth}')
        psql(f'DROP INDEX {TABLE}_i{i}')


def whole(args, part, wheres, truth):
    """Everything runs to its end; prints a row of the table."""
    since = log_size(args)
    began = time.monotonic()
    works = [Work(s) for s in statements(part)]
    # flushes spill as well, but not on every machine and always
    if not spooled(works) and part != 'loads' and not args.smoke:
        raise Premise(f'{part}: no spool file has appeared')
    for w in works:
        w.join()
    seconds = time.monotonic() - began
    bad = [w.error for w in works if w.error]
    if bad:
        raise Premise(f'{part}: {len(bad)} have failed: {bad[0]}')
    said = '\n'.join('\n'.join(w.said) for w in works)
    forced = sum(map(int, re.findall(r'forced (\d+)', said)))
    runs = sum(map(int, re.findall(r'runs (\d+)', said)))
    check_clean(part)
    text = logged(args, since)
    files = re.findall(r'temporary file: path "base/pgsql_tmp.*size (\d+)',
                       text)
    short = len(re.findall('snii.build_memory_limit', text))
    if part != 'loads' and not args.smoke:
        if forced == 0:
            raise Premise(f'{part}: no spill was asked for')
        if args.log and short == 0:
            raise Premise(f'{part}: no shortfall was logged')
    compare(works, wheres, truth)
    clear()
    print('| %s | %.1f | %d | %d | %d | %.1f | %d | equal | nothing |' % (
        part, seconds, runs, forced, len(files), sum(map(int, files)) / 1e6,
        short), flush=True)


def kill_one(works):
    for w in works:
        try:
            if w.is_alive():
                os.kill(w.session.pid, signal.SIGKILL)
                return
        except ProcessLookupError:
            pass
    raise Premise('kill: all had finished')


def broken(args, part):
    """Break off in the middle; nothing may be left."""
    works = [Work(s) for s in statements('both')]
    if not spooled(works):
        raise Premise(f'{part}: no spool file has appeared')
    if part == 'cancel':
        psql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE"
             " backend_type = 'client backend' AND pid <> pg_backend_pid()")
    else:
        kill_one(works)
    for w in works:
        w.join()
    for _ in range(600):
        if psql('SELECT 1', fail=False) == '1':
            break
        time.sleep(0.1)
    n = sum(1 for w in works if w.error)
    if n == 0:
        raise Premise(f'{part}: nobody was interrupted')
    check_clean(part)
    clear()
    print('| %s | | | | | | | %d of %d broken off | nothing |' % (
        part, n, CLIENTS), flush=True)


def run(args):
    parts = [p for p in args.parts if p in PARTS] or (
        # little data is done before it can be broken off: 083_forced_spills does
        ('both',) if args.smoke else PARTS)
    rows = prepare(args)
    print('## %d builds and loads at once, %d log rows each,'
          ' `maintenance_work_mem` 4 MB, limit of all and floor 1 MB\n\n'
          '| what | s | runs of builds | of them asked for | spool files |'
          ' MB | shortfalls logged | answers | left |' % (CLIENTS, rows))
    print('| --- ' + '| --: ' * 6 + '| --- | --- |')
    try:
        clear()
        wheres, truth = truths()
        psql(f'DROP INDEX {TABLE}_gin')
        for part in parts:
            if part in ('cancel', 'kill'):
                broken(args, part)
            else:
                whole(args, part, wheres, truth)
    finally:
        restore()
    psql(f'DROP TABLE {TABLE}')

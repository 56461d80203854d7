"""Section loads of build_parallel.py: workloads as they were published.

Into a table without an index and into one with, taking turns: COPY of log
rows of which 1 % carry base64, of those without, and of rows of few terms;
batches of several clients into a table with ten indexes; a table of 419
columns with indexes over 96 of them; COPY in batches of 100 MB, and once of
1 GB. Parts: log, short, few, ten, wide, copy100, copy1000.
"""
import os
import subprocess
import tempfile
import threading
import time

from build_common import (TEXTS, Premise, Session, check_clean,
                          check_index, command_of, median, postmaster, psql,
                          server_cpu)

PARTS = ['log', 'short', 'few', 'ten', 'wide', 'copy100', 'copy1000']
TABLE = 'bench_load'
INDEXES = 10
COLUMNS, INDEXED, OF_AN_INDEX = 419, 96, 32


def file_of(corpus, rows, args, folder):
    """A file of rows in COPY format: id, text."""
    path = os.path.join(folder, f'{corpus}-{rows}.tsv')
    if os.path.exists(path):
        return path
    with open(path, 'wb') as f:
        if corpus in TEXTS:
            command = ['psql', '-XAtqc', 'COPY (SELECT g, %s FROM'
                       ' generate_series(1, %d) g) TO STDOUT' % (
                           TEXTS[corpus], rows)]
        else:
            command = ['bash', '-c', command_of(corpus, rows, args.data)]
        subprocess.run(command, stdout=f, check=True)
    return path


def split(path, parts):
    """Files of whole lines, nearly alike in size."""
    subprocess.run(['split', '-n', f'l/{parts}', path, path + '.'],
                   check=True)
    folder, name = os.path.split(path)
    return sorted(os.path.join(folder, x) for x in os.listdir(folder)
                  if x.startswith(name + '.'))


def pieces_of(path, size):
    return split(path, max(1, round(os.path.getsize(path) / size)))


# --- one load -------------------------------------------------------------

def columns_of(wide):
    if not wide:
        return 'id bigint, body text'
    return ', '.join(f'c{i} text' for i in range(COLUMNS))


def indexes_of(arm, part):
    """Statements that make the indexes of an arm."""
    if arm == 'none':
        return []
    if part == 'ten':
        return [f'CREATE INDEX {TABLE}_i{i} ON {TABLE} USING snii (body)'
                for i in range(INDEXES)]
    if part == 'wide':
        return ['CREATE INDEX %s_i%d ON %s USING snii (%s)' % (
            TABLE, i, TABLE, ', '.join(
                f'c{(i * OF_AN_INDEX + k) * 4}' for k in range(OF_AN_INDEX)))
            for i in range(INDEXED // OF_AN_INDEX)]
    return [f'CREATE INDEX {TABLE}_i0 ON {TABLE} USING snii (body)']


class Client(threading.Thread):
    """Copies files that it takes from a list, one after the other."""

    def __init__(self, files):
        super().__init__(daemon=True)
        self.files, self.session = files, Session()

    def run(self):
        while True:
            try:
                path = self.files.pop()
            except IndexError:
                break
            self.session.run(f"COPY {TABLE} FROM '{path}'")
        self.session.end()


def one_load(arm, part, files, clients):
    """Load them; what it took, until nothing is left to do."""
    psql(f'DROP TABLE IF EXISTS {TABLE};'
         f"CREATE TABLE {TABLE} ({columns_of(part == 'wide')})")
    indexes = indexes_of(arm, part)
    for statement in indexes:
        psql(statement)
    psql('CHECKPOINT')
    pid = postmaster()
    lsn = psql('SELECT pg_current_wal_insert_lsn()')
    cpu, began = server_cpu(pid), time.monotonic()
    left = list(reversed(files))
    threads = [Client(left) for _ in range(clients)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    seconds = time.monotonic() - began
    for i in range(len(indexes)):
        psql(f"SELECT snii_flush('{TABLE}_i{i}')")
    check_clean(f'{part}, {arm}', 120)
    total = time.monotonic() - began
    r = {'seconds': seconds, 'total': total, 'cpu': server_cpu(pid) - cpu,
         'wal': int(psql(f"SELECT pg_current_wal_insert_lsn() - '{lsn}'")),
         'rows': int(psql(f'SELECT count(*) FROM {TABLE}'))}
    for i in range(len(indexes)):
        name = f'{TABLE}_i{i}'
        check_index(name)
        docs = int(psql(f"SELECT coalesce(sum(documents), 0)"
                        f" FROM snii_segments('{name}')"))
        if docs != r['rows']:
            raise Premise(f'{part}: {docs} documents in {name} for'
                          f' {r["rows"]} rows')
    return r


def compare(part, files, clients, runs):
    """Both arms, taking turns; prints a row each."""
    size = sum(map(os.path.getsize, files)) / 1e6
    arms = {'none': [], 'snii': []}
    for _ in range(runs):
        for arm, results in arms.items():
            results.append(one_load(arm, part, files, clients))
    psql(f'DROP TABLE {TABLE}')
    for arm, results in arms.items():
        s, c = median(results, 'seconds'), median(results, 'cpu')
        rows = results[0]['rows']
        print('| %s | %s | %d | %.0f | %.2f | %.2f | %.0f | %.1f | %.2f |'
              ' %.0f |' % (part, 'no index' if arm == 'none' else
                           '%d snii' % len(indexes_of(arm, part)), rows, size,
                           s, median(results, 'total'), rows / s, size / s, c,
                           median(results, 'wal') / rows), flush=True)


# --- parts ----------------------------------------------------------------

def part_text(part, args, folder):
    corpus = {'log': 'logs'}.get(part, part)
    files = [file_of(corpus, args.rows // 2, args, folder)]
    compare(part, files, 1, args.runs)


def part_ten(args, folder):
    """8 clients; batches of 1,000 rows."""
    rows = args.rows // 15
    path = file_of('ulogs', rows, args, folder)
    compare('ten', split(path, max(8, rows // 1000)),
            2 if args.smoke else 8, args.runs)


def part_wide(args, folder):
    """Rows of 419 columns: every fourth one of the first 384 is text that an
    index has, the others are a word, a number or NULL."""
    rows = args.rows // 60
    path = os.path.join(folder, 'wide.tsv')
    with open(file_of('short', rows, args, folder)) as f:
        words = [line.rstrip('\n').split('\t')[1].split() for line in f]
    with open(path, 'w') as f:
        for n, w in enumerate(words):
            cells = []
            for i in range(COLUMNS):
                if i % 4 == 0 and i < INDEXED * 4:
                    at = (n + i) % len(words)
                    cells.append(' '.join(words[at][3:9]))
                else:
                    cells.append((w[i % len(w)], str(n * i), '\\N')[i % 3])
            f.write('\t'.join(cells) + '\n')
    compare('wide', split(path, max(4, rows // 500)),
            2 if args.smoke else 4, args.runs)


def part_copy(part, args, folder):
    """Batches of 100 MB; 1 GB at once, from one file, one run."""
    whole = part == 'copy1000'
    size = 1 << 30 if whole else 500 * 1000 * 1000
    if args.smoke:
        size = 2 << 20 if whole else 1 << 20
    per_row = 240               # of short log lines, a little more
    path = file_of('short', size // per_row, args, folder)
    big = path + '.big'
    times = max(1, round(size / os.path.getsize(path)))
    subprocess.run(['bash', '-c', f"for i in $(seq {times}); do cat '{path}';"
                    f" done > '{big}'"], check=True)
    files = [big] if whole else pieces_of(
        big, 100e6 if not args.smoke else 200e3)
    compare(part, files, 1, 1 if whole else args.runs)
    os.unlink(big)


def run(args):
    parts = [p for p in args.parts if p in PARTS] or PARTS
    print('## Loads\n\nCOPY, medians of %d; "settled": until workers have'
          ' nothing to do and the buffer is flushed.\n\n| load | indexes |'
          ' rows | MB | s | settled, s | rows/s | MB/s | CPU s of the server |'
          ' WAL B/row |' % args.runs)
    print('| --- | --- ' + '| --: ' * 8 + '|')
    with tempfile.TemporaryDirectory() as folder:
        # the server reads the files
        os.chmod(folder, 0o755)
        for part in parts:
            if part in ('log', 'short', 'few'):
                part_text(part, args, folder)
            elif part == 'ten':
                part_ten(args, folder)
            elif part == 'wide':
                part_wide(args, folder)
            else:
                part_copy(part, args, folder)

#!/usr/bin/env python3
"""Print synthetic service-log rows in COPY text format.

usage: gen_logs.py ROWS [SEED [FIRST_ID]]

Columns: id, body. A body is one line of a service log: time, level, request
id, client, method and path, one of ten messages, 4 to 15 words of a Zipf
vocabulary; one row in a hundred carries 4 KB of base64. The same arguments
give the same bytes with any Python 3.9 or later.
"""
import base64
import bisect
import datetime
import itertools
import random
import sys
import uuid

LEVELS = ['DEBUG'] * 2 + ['INFO'] * 12 + ['WARN'] * 3 + ['ERROR'] * 2 + ['FATAL']
SERVICES = ['accounts', 'alerts', 'archive', 'catalogue', 'checkout',
            'invoices', 'metrics', 'profile', 'stock', 'tickets']
METHODS = ['GET'] * 4 + ['POST', 'PUT', 'DELETE']
STATUSES = [200] * 6 + [201, 204, 302, 304, 400, 401, 403, 404, 409, 429,
                        500, 502, 503]
MESSAGES = [
    'upstream closed the connection after {ms} ms',
    'request served in {ms} ms with status {st}',
    'session opened for user {num} from {ip}',
    'could not take the lock on {res} within {ms} ms',
    'no cached copy of {res}, reading from disk',
    'job {num} failed, attempt {k} of 5 follows',
    'statement took {ms} ms and returned {num} rows',
    'payment {num} refused by the bank with code {st}',
    'collector paused for {ms} ms, {num} kB live',
    'signature of the token for {res} does not verify']
SYLLABLES = [c + v for c in ('b', 'c', 'd', 'f', 'g', 'l', 'm', 'n', 'p', 'r',
                             's', 't', 'v', 'br', 'st', 'tr')
             for v in 'aeiou']
VOCABULARY = 20000


def vocabulary(rng):
    """Distinct pronounceable words, short ones first."""
    words = []
    seen = set()
    while len(words) < VOCABULARY:
        n = 2 + (len(words) > 500) + (len(words) > 8000)
        word = ''.join(rng.choice(SYLLABLES) for _ in range(n))
        if word not in seen:
            seen.add(word)
            words.append(word)
    return words


def main():
    rows = int(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    first = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    # The words are those of every seed, so that more rows fit to earlier ones.
    words = vocabulary(random.Random(7))
    cum = list(itertools.accumulate(1.0 / (i + 2.5) ** 1.05
                                    for i in range(len(words))))
    rng = random.Random(seed)
    start = datetime.datetime(2026, 1, 1)
    out = sys.stdout.write
    for i in range(first, first + rows):
        when = start + datetime.timedelta(
            milliseconds=i * 41 + rng.randrange(40))
        ip = '10.%d.%d.%d' % (rng.randrange(4), rng.randrange(256),
                              rng.randrange(256))
        res = '%s-%04x' % (rng.choice(SERVICES), rng.randrange(65536))
        msg = rng.choice(MESSAGES).format(
            ms=int(rng.expovariate(1 / 80.0)) + 1, st=rng.choice(STATUSES),
            num=rng.randrange(1, 1000000), ip=ip, res=res,
            k=rng.randrange(1, 6))
        tail = ' '.join(words[bisect.bisect_left(cum, rng.random() * cum[-1])]
                        for _ in range(rng.randrange(4, 16)))
        body = '%s.%03dZ %s request_id=%s ip=%s %s /v%d/%s/%d %s %s' % (
            when.strftime('%Y-%m-%dT%H:%M:%S'), when.microsecond // 1000,
            rng.choice(LEVELS),
            uuid.UUID(int=rng.getrandbits(128), version=4), ip,
            rng.choice(METHODS), rng.randrange(1, 4), rng.choice(SERVICES),
            rng.randrange(1, 200000), msg, tail)
        if rng.random() < 0.01:
            body += ' payload=' + base64.b64encode(
                rng.getrandbits(8 * 3072).to_bytes(3072, 'little')).decode()
        out('%d\t%s\n' % (i, body))


if __name__ == '__main__':
    main()

#!/usr/bin/env python3
"""Make the query list of a corpus.

usage: make_queries.py CORPUS.tsv [SEED] > queries/CORPUS.tsv

Input: COPY text, the last column being the body. Output: a line for each
query: class, decile, number of rows as counted here, words. A list has 55
queries of each class where the corpus yields them, spread over ten equal
steps of the logarithm of the part of the rows that match, from 0.01 to 20 %.
phrase2f holds phrases of two frequent words (each in 1 % of the rows or more)
that match at most 1 % of the rows.

Words are runs of a to z between blanks or plain punctuation, which the
analyzer 'standard' and the configuration 'simple' of PostgreSQL see alike.
The same file and seed give the same list.
"""
import collections
import itertools
import math
import random
import re
import sys

LOW, HIGH = 0.0001, 0.2
FREQUENT = 0.01
STEPS = 10
PER_STEP = 6
PER_CLASS = 55
WORD = re.compile(r"(?:(?<=[\s(\"';,])|^)[A-Za-z]{2,20}(?=[\s),.\"';:!?]|$)")
BREAK = re.compile(r'\\[ntr]')
# Operators of the query languages and the like.
RESERVED = {'and', 'or', 'not', 'to'}


def documents(path):
    with open(path, encoding='utf-8') as source:
        for line in source:
            body = BREAK.sub(' ', line.rstrip('\n').rsplit('\t', 1)[-1])
            yield body


def words_of(body):
    """Words with their place, so that phrases are of neighbours only."""
    return [(m.start(), m.group().lower()) for m in WORD.finditer(body)]


def pairs_of(found, n):
    """Runs of n words with one blank between them."""
    for i in range(len(found) - n + 1):
        run = found[i:i + n]
        if all(run[k][0] + len(run[k][1]) + 1 == run[k + 1][0]
               for k in range(n - 1)):
            yield tuple(w for _, w in run)


def step_of(part):
    if not LOW <= part <= HIGH:
        return None
    at = math.log(part / LOW) / math.log(HIGH / LOW)
    return min(int(at * STEPS), STEPS - 1)


class Corpus:
    def __init__(self, path, rng):
        self.rng = rng
        self.n = 0
        df = collections.Counter()
        for body in documents(path):
            df.update({w for _, w in words_of(body)})
            self.n += 1
        least = max(3, int(self.n * LOW))
        self.df = {w: c for w, c in df.items()
                   if c >= least and w not in RESERVED}
        self.eligible = sorted(self.df)
        self.sample(path)

    def sample(self, path):
        """Postings of candidate words, and candidate phrases with counts."""
        rng = self.rng
        by_step = collections.defaultdict(list)
        for w in self.eligible:
            s = step_of(self.df[w] / self.n)
            by_step[STEPS if s is None else s].append(w)
        chosen = set()
        for words in by_step.values():
            chosen.update(rng.sample(words, min(len(words), 60)))
        lists = {w: bytearray((self.n + 7) // 8) for w in sorted(chosen)}
        want = set(rng.sample(range(self.n), min(self.n, 6000)))
        phrases = {2: set(), 3: set()}
        self.rows = []
        for i, body in enumerate(documents(path)):
            found = words_of(body)
            here = {w for _, w in found}
            for w in here & chosen:
                lists[w][i >> 3] |= 1 << (i & 7)
            if i in want:
                self.rows.append(sorted(here & chosen))
                for n in (2, 3):
                    runs = sorted(r for r in set(pairs_of(found, n))
                                  if all(w in self.df for w in r))
                    phrases[n].update(rng.sample(runs, min(len(runs), 4)))
        self.bits = {w: int.from_bytes(b, 'little') for w, b in lists.items()}
        self.phrases = {n: collections.Counter() for n in (2, 3)}
        for body in documents(path):
            found = words_of(body)
            for n in (2, 3):
                self.phrases[n].update(set(pairs_of(found, n)) & phrases[n])


def emit(name, corpus, candidates):
    """Print up to PER_STEP candidates of each step, then fill up."""
    taken = collections.defaultdict(list)
    spare = []
    seen = set()
    for words, rows in candidates:
        step = step_of(rows / corpus.n)
        if step is None or words in seen:
            continue
        seen.add(words)
        if len(taken[step]) < PER_STEP:
            taken[step].append((words, rows))
        else:
            spare.append((step, words, rows))
        if sum(map(len, taken.values())) >= STEPS * PER_STEP:
            break
    missing = PER_CLASS - sum(map(len, taken.values()))
    for step, words, rows in spare[:max(missing, 0)]:
        taken[step].append((words, rows))
    out = [(step, rows, words) for step, queries in sorted(taken.items())
           for words, rows in queries]
    for step, rows, words in out[:STEPS * PER_STEP]:
        print(name, step, rows, ' '.join(words), sep='\t')


def count(corpus, op, words):
    bits = [corpus.bits[w] for w in words]
    if op == 'or':
        value = bits[0]
        for b in bits[1:]:
            value |= b
    elif op == 'not':
        value = bits[0] & ~bits[1]
    else:
        value = bits[0]
        for b in bits[1:]:
            value &= b
    return value.bit_count()


def combinations(corpus, op, n, tries=6000):
    rng = corpus.rng
    pool = sorted(corpus.bits)
    rows = [r for r in corpus.rows if len(r) >= n]
    for _ in range(tries):
        if op == 'and':
            words = tuple(rng.sample(rng.choice(rows), n))
        elif op == 'not':
            words = (rng.choice(pool), rng.choice(rng.choice(rows)))
            if words[0] == words[1]:
                continue
        else:
            words = tuple(rng.sample(pool, n))
        yield words, count(corpus, op, words)


def main():
    rng = random.Random(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    corpus = Corpus(sys.argv[1], rng)
    single = [((w,), corpus.df[w]) for w in corpus.eligible]
    rng.shuffle(single)
    emit('term', corpus, single)
    for op, n in itertools.product(('and', 'or'), (2, 3)):
        emit(op + str(n), corpus, combinations(corpus, op, n))
    emit('not', corpus, combinations(corpus, 'not', 2))
    for n in (2, 3):
        found = sorted(corpus.phrases[n].items())
        rng.shuffle(found)
        emit('phrase%d' % n, corpus, found)
    common = [(p, c) for p, c in sorted(corpus.phrases[2].items())
              if c <= corpus.n * FREQUENT and
              all(corpus.df[w] >= corpus.n * FREQUENT for w in p)]
    rng.shuffle(common)
    emit('phrase2f', corpus, common)


if __name__ == '__main__':
    main()

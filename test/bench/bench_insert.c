/*-------------------------------------------------------------------------
 *
 * bench_insert.c
 *	  Insert texts one by one from several connections and time each.
 *
 *	  usage: bench_insert FILE CLIENTS SECONDS STATEMENT [SETTING...]
 *
 * Built and started by writes.py.  FILE has texts that end with a zero byte;
 * STATEMENT is prepared and takes an id and a text.  Client i of n inserts the
 * texts i, i + n, ... and begins anew at the end of the file.  Prints one
 * line: rows, seconds, the latencies at 50, 99 and 99.9 % and the longest in
 * microseconds, and how many took more than 250 ms.  Where to connect is told
 * by the environment, as to psql; each SETTING is a statement run first.
 *
 *-------------------------------------------------------------------------
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libpq-fe.h"

#define STALL_US	250000

typedef struct Client
{
	pthread_t	thread;
	int			number;
	PGconn	   *conn;
	uint32_t   *latency;		/* in microseconds */
	size_t		nrows;
	size_t		capacity;
} Client;

static const char **texts;
static size_t ntexts;
static int	nclients;
static double end_time;

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec + (double) t.tv_nsec / 1e9;
}

static void
fail(const char *what, const char *detail)
{
	fprintf(stderr, "bench_insert: %s: %s\n", what, detail);
	exit(1);
}

static void *
allocate(void *old, size_t size)
{
	void	   *result = realloc(old, size);

	if (result == NULL)
		fail("out of memory", "texts or latencies");
	return result;
}

static void
read_texts(const char *name)
{
	FILE	   *f = fopen(name, "rb");
	char	   *data;
	long		size;
	size_t		capacity = 0;

	if (f == NULL || fseek(f, 0, SEEK_END) != 0 || (size = ftell(f)) <= 0)
		fail(name, "cannot be read, or is empty");
	rewind(f);
	data = allocate(NULL, (size_t) size + 1);
	if (fread(data, 1, (size_t) size, f) != (size_t) size)
		fail(name, "ended early");
	data[size] = '\0';
	fclose(f);
	for (char *p = data; p < data + size; p += strlen(p) + 1)
	{
		if (ntexts == capacity)
		{
			capacity = capacity * 2 + 1024;
			texts = allocate(texts, capacity * sizeof(char *));
		}
		texts[ntexts++] = p;
	}
}

static void
check(PGconn * conn, PGresult * result)
{
	ExecStatusType status = PQresultStatus(result);

	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		fail("statement", PQerrorMessage(conn));
	PQclear(result);
}

static void *
run_client(void *arg)
{
	Client	   *c = arg;
	double		before = now();

	while (before < end_time)
	{
		char		id[32];
		size_t		n = c->nrows * (size_t) nclients + (size_t) c->number;
		const char *values[2] = {id, texts[n % ntexts]};
		double		after;

		snprintf(id, sizeof(id), "%zu", n);
		check(c->conn, PQexecPrepared(c->conn, "i", 2, values, NULL, NULL,
									  0));
		after = now();
		if (c->nrows == c->capacity)
		{
			c->capacity = c->capacity * 2 + 65536;
			c->latency = allocate(c->latency,
								  c->capacity * sizeof(uint32_t));
		}
		c->latency[c->nrows++] = (uint32_t) ((after - before) * 1e6);
		before = after;
	}
	return NULL;
}

static int
compare(const void *a, const void *b)
{
	uint32_t	x = *(const uint32_t *) a;
	uint32_t	y = *(const uint32_t *) b;

	return (x > y) - (x < y);
}

static void
report(const Client *clients, double seconds)
{
	uint32_t   *all;
	size_t		n = 0;
	size_t		stalls = 0;

	for (int i = 0; i < nclients; i++)
		n += clients[i].nrows;
	if (n == 0)
		fail("load", "no row was inserted");
	all = allocate(NULL, n * sizeof(uint32_t));
	n = 0;
	for (int i = 0; i < nclients; i++)
	{
		memcpy(all + n, clients[i].latency,
			   clients[i].nrows * sizeof(uint32_t));
		n += clients[i].nrows;
	}
	qsort(all, n, sizeof(uint32_t), compare);
	for (size_t i = n; i > 0 && all[i - 1] > STALL_US; i--)
		stalls++;
	printf("%zu %.3f %u %u %u %u %zu\n", n, seconds, all[n / 2],
		   all[n * 99 / 100], all[n * 999 / 1000], all[n - 1], stalls);
}

int
main(int argc, char **argv)
{
	Client	   *clients;
	double		start;

	if (argc < 5 || (nclients = atoi(argv[2])) < 1)
		fail("usage", "FILE CLIENTS SECONDS STATEMENT [SETTING...]");
	read_texts(argv[1]);
	clients = calloc((size_t) nclients, sizeof(Client));
	if (clients == NULL)
		fail("out of memory", "clients");
	for (int i = 0; i < nclients; i++)
	{
		Client	   *c = &clients[i];

		c->number = i;
		c->conn = PQconnectdb("");
		if (PQstatus(c->conn) != CONNECTION_OK)
			fail("connection", PQerrorMessage(c->conn));
		for (int k = 5; k < argc; k++)
			check(c->conn, PQexec(c->conn, argv[k]));
		check(c->conn, PQprepare(c->conn, "i", argv[4], 0, NULL));
	}
	start = now();
	end_time = start + atof(argv[3]);
	for (int i = 0; i < nclients; i++)
		if (pthread_create(&clients[i].thread, NULL, run_client,
						   &clients[i]) != 0)
			fail("thread", "cannot be started");
	for (int i = 0; i < nclients; i++)
		pthread_join(clients[i].thread, NULL);
	report(clients, now() - start);
	for (int i = 0; i < nclients; i++)
		PQfinish(clients[i].conn);
	return 0;
}

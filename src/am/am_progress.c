/*-------------------------------------------------------------------------
 *
 * am_progress.c
 *	  Progress of CREATE INDEX, for pg_stat_progress_create_index and
 *	  snii_progress.
 *
 * A backend has twenty parameters for its command's progress.  Those that
 * core's view of CREATE INDEX leaves unused carry our counts, so that any
 * session sees them without the library being preloaded: the SQL view
 * snii_progress names them.  Workers cannot set the leader's parameters on all
 * versions, so they count in the build's shared memory and the leader adds up.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "am/am_progress.h"

#include "commands/progress.h"
#include "utils/backend_progress.h"

/* Not used by core for CREATE INDEX, on 15 to 18. */
#define PARAM_DOCUMENTS		17
#define PARAM_BYTES			18
#define PARAM_RUNS			19

StaticAssertDecl(PARAM_RUNS < PGSTAT_NUM_PROGRESS_PARAM,
				 "parameters of progress");

char *
snii_am_build_phase(int64 phase)
{
	switch (phase)
	{
		case PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE:
			return (char *) "initializing";
		case SNII_AM_PHASE_SCAN:
			return (char *) "scanning table";
		case SNII_AM_PHASE_WRITE:
			return (char *) "writing segment";
		case SNII_AM_PHASE_WAIT:
			return (char *) "waiting for workers";
		case SNII_AM_PHASE_SORT:
			return (char *) "sorting keys";
		default:
			return NULL;
	}
}

void
snii_am_progress_phase(int64 phase)
{
	pgstat_progress_update_param(PROGRESS_CREATEIDX_SUBPHASE, phase);
}

void
snii_am_progress_init(SniiAmCounts *counts)
{
	pg_atomic_init_u64(&counts->documents, 0);
	pg_atomic_init_u64(&counts->bytes, 0);
	pg_atomic_init_u64(&counts->runs, 0);
	pg_atomic_init_u64(&counts->terms, 0);
	pg_atomic_init_u64(&counts->terms_total, 0);
}

static void
add_counts(SniiInvProgress *sum, SniiAmCounts *counts)
{
	sum->documents += pg_atomic_read_u64(&counts->documents);
	sum->bytes += pg_atomic_read_u64(&counts->bytes);
	sum->runs += pg_atomic_read_u64(&counts->runs);
	sum->terms += pg_atomic_read_u64(&counts->terms);
	sum->terms_total += pg_atomic_read_u64(&counts->terms_total);
}

/* Core's columns "tuples" are documents while the table is scanned, then terms. */
void
snii_am_progress_show(const SniiAmProgress *progress)
{
	static const int params[] = {
		PROGRESS_CREATEIDX_TUPLES_TOTAL, PROGRESS_CREATEIDX_TUPLES_DONE,
		PARAM_DOCUMENTS, PARAM_BYTES, PARAM_RUNS
	};
	SniiInvProgress sum = progress->own;
	int64		values[lengthof(params)];

	for (int i = 0; i < progress->nworkers; i++)
		add_counts(&sum, &progress->workers[i]);
	values[0] = (int64) sum.terms_total;
	values[1] = (int64) (sum.terms_total > 0 ? sum.terms : sum.documents);
	values[2] = (int64) sum.documents;
	values[3] = (int64) sum.bytes;
	values[4] = (int64) sum.runs;
	pgstat_progress_update_multi_param(lengthof(params), params, values);
}

void
snii_am_progress_report(void *arg, const SniiInvProgress *p)
{
	SniiAmProgress *progress = arg;
	SniiAmCounts *mine = progress->mine;

	if (mine == NULL)
	{
		progress->own = *p;
		snii_am_progress_show(progress);
		return;
	}
	pg_atomic_write_u64(&mine->documents, p->documents);
	pg_atomic_write_u64(&mine->bytes, p->bytes);
	pg_atomic_write_u64(&mine->runs, p->runs);
	pg_atomic_write_u64(&mine->terms, p->terms);
	pg_atomic_write_u64(&mine->terms_total, p->terms_total);
}

/*-------------------------------------------------------------------------
 *
 * inv_progress.h
 *	  How far a build is.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_INV_PROGRESS_H
#define SNII_INV_PROGRESS_H

/*
 * Counts of a build, and who hears of them: report is called about every
 * thousand documents, megabyte of text or few thousand terms, and at each
 * run.  It must not raise an error.
 */
typedef struct SniiInvProgress
{
	uint64		documents;
	uint64		bytes;			/* of their text, or tokens */
	uint64		runs;			/* spilled */
	uint64		terms;			/* merged in this pass, or written */
	uint64		terms_total;	/* of the pass; 0: it has not begun */
	void		(*report) (void *arg, const struct SniiInvProgress *p);
	void	   *arg;			/* report NULL: nobody */
} SniiInvProgress;

#define SNII_INV_PROGRESS_DOCUMENTS	1024
#define SNII_INV_PROGRESS_BYTES		(1024 * 1024)
#define SNII_INV_PROGRESS_TERMS		4096

static inline void
snii_inv_progress_report(SniiInvProgress *p)
{
	if (p->report != NULL)
		p->report(p->arg, p);
}

/* Begin a pass over that many terms. */
static inline void
snii_inv_progress_pass(SniiInvProgress *p, uint64 terms)
{
	p->terms = 0;
	p->terms_total = terms;
	snii_inv_progress_report(p);
}

static inline void
snii_inv_progress_term(SniiInvProgress *p)
{
	if (unlikely(++p->terms % SNII_INV_PROGRESS_TERMS == 0))
		snii_inv_progress_report(p);
}

#endif							/* SNII_INV_PROGRESS_H */

/*-------------------------------------------------------------------------
 *
 * query_tree.c
 *	  A query in memory: the tree that matchers and scans walk.
 *
 * Trees are built bottom up by the constructors here, which keep them in
 * normal form, so that what means the same by these rules is the same bytes:
 *
 *	- AND and OR have at least two children, no two of them equal, none of
 *	  them of the same type or NONE or ALL; the order of the input is kept;
 *	- NOT stands above neither NONE, ALL nor NOT;
 *	- a phrase has at least two terms, the first at position 0.
 *
 * ALL means "not NULL", as do all other nodes together with their NOT, so
 * that the folding rules of two-valued logic hold for every document that is
 * not NULL; a NULL document never comes here, since the operators are strict.
 *
 * Nodes are allocated in the current context and may share children and
 * terms with the arguments of the constructors.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "query/query_tree.h"

#include "common/hashfn.h"
#include "miscadmin.h"

/* A child, for finding equal ones. */
typedef struct HashedChild
{
	uint32		hash;
	uint32		ordinal;
} HashedChild;

static uint32
hash_terms(const SniiQueryNode *node)
{
	uint32		hash = 0;

	for (uint32 i = 0; i < node->nterms; i++)
	{
		const SniiQueryTerm *term = &node->terms[i];

		hash = hash_combine(hash, term->position);
		hash = hash_combine(hash,
							hash_bytes((const unsigned char *) term->token,
									   (int) term->token_len));
	}
	return hash;
}

/* Sets the hash of a node whose children have theirs; returns the node. */
static SniiQueryNode *
hashed(SniiQueryNode *node)
{
	uint32		hash = hash_combine(murmurhash32(node->type), hash_terms(node));

	for (uint32 i = 0; i < node->nchildren; i++)
		hash = hash_combine(hash, node->children[i]->hash);
	node->hash = hash;
	return node;
}

static bool
terms_equal(const SniiQueryNode *a, const SniiQueryNode *b)
{
	if (a->nterms != b->nterms)
		return false;
	for (uint32 i = 0; i < a->nterms; i++)
	{
		const SniiQueryTerm *s = &a->terms[i];
		const SniiQueryTerm *t = &b->terms[i];

		if (s->position != t->position || s->token_len != t->token_len ||
			memcmp(s->token, t->token, s->token_len) != 0)
			return false;
	}
	return true;
}

/* Are the two normalised trees the same? */
bool
snii_query_node_equal(const SniiQueryNode *a, const SniiQueryNode *b)
{
	check_stack_depth();
	if (a->hash != b->hash || a->type != b->type || a->slop != b->slop ||
		a->in_order != b->in_order || a->nchildren != b->nchildren ||
		!terms_equal(a, b))
		return false;
	for (uint32 i = 0; i < a->nchildren; i++)
		if (!snii_query_node_equal(a->children[i], b->children[i]))
			return false;
	return true;
}

/*
 * Nested parentheses in the text of a normalised tree: around an OR below
 * AND or NOT, and an AND below NOT.
 */
int
snii_query_node_depth(const SniiQueryNode *node)
{
	int			deepest = 0;

	check_stack_depth();
	for (uint32 i = 0; i < node->nchildren; i++)
	{
		const SniiQueryNode *child = node->children[i];
		int			depth = snii_query_node_depth(child);

		if (child->type == SNII_QUERY_OR ||
			(child->type == SNII_QUERY_AND && node->type == SNII_QUERY_NOT))
			depth++;
		deepest = Max(deepest, depth);
	}
	return deepest;
}

static SniiQueryNode *
make_node(SniiQueryNodeType type)
{
	SniiQueryNode *node = palloc0(sizeof(SniiQueryNode));

	node->type = type;
	return node;
}

/* NONE or ALL. */
SniiQueryNode *
snii_query_node(SniiQueryNodeType type)
{
	Assert(type == SNII_QUERY_NONE || type == SNII_QUERY_ALL);
	return hashed(make_node(type));
}

/*
 * TERM or PHRASE of the terms, or NONE if there are none.  Their positions
 * ascend; they are moved so that the first is 0.  The array becomes part of
 * the node.
 */
SniiQueryNode *
snii_query_node_terms(SniiQueryTerm *terms, uint32 nterms)
{
	SniiQueryNode *node;

	if (nterms == 0)
		return snii_query_node(SNII_QUERY_NONE);
	for (uint32 i = nterms; i-- > 0;)
		terms[i].position -= terms[0].position;
	node = make_node(nterms == 1 ? SNII_QUERY_TERM : SNII_QUERY_PHRASE);
	node->in_order = (nterms > 1);
	node->terms = terms;
	node->nterms = nterms;
	return hashed(node);
}

/* NOT of the child. */
SniiQueryNode *
snii_query_node_not(SniiQueryNode *child)
{
	SniiQueryNode *node;

	if (child->type == SNII_QUERY_NOT)
		return child->children[0];
	if (child->type == SNII_QUERY_NONE)
		return snii_query_node(SNII_QUERY_ALL);
	if (child->type == SNII_QUERY_ALL)
		return snii_query_node(SNII_QUERY_NONE);
	node = make_node(SNII_QUERY_NOT);
	node->children = palloc(sizeof(SniiQueryNode *));
	node->children[0] = child;
	node->nchildren = 1;
	return hashed(node);
}

static int
compare_hashed(const void *a, const void *b)
{
	const HashedChild *s = a;
	const HashedChild *t = b;

	if (s->hash != t->hash)
		return s->hash < t->hash ? -1 : 1;
	if (s->ordinal != t->ordinal)
		return s->ordinal < t->ordinal ? -1 : 1;
	return 0;
}

/*
 * Removes all but the first of equal children and keeps the order of the
 * rest.  Returns how many are left.
 */
static uint32
remove_duplicates(SniiQueryNode **children, uint32 n)
{
	HashedChild *order;
	uint32		kept = 0;

	if (n < 2)
		return n;
	order = MemoryContextAllocHuge(CurrentMemoryContext,
								   (Size) n * sizeof(HashedChild));
	for (uint32 i = 0; i < n; i++)
	{
		order[i].hash = children[i]->hash;
		order[i].ordinal = i;
	}
	qsort(order, n, sizeof(HashedChild), compare_hashed);
	for (uint32 i = 0; i < n; i++)
	{
		const SniiQueryNode *child = children[order[i].ordinal];

		/* equal hashes are adjacent, and almost always equal children */
		for (uint32 j = i + 1; j < n && order[j].hash == order[i].hash; j++)
		{
			SniiQueryNode **other = &children[order[j].ordinal];

			if (child == NULL)
				break;
			if (*other != NULL && snii_query_node_equal(child, *other))
				*other = NULL;
		}
	}
	pfree(order);
	for (uint32 i = 0; i < n; i++)
		if (children[i] != NULL)
			children[kept++] = children[i];
	return kept;
}

/*
 * Copies the children into one array in which those of the given type are
 * replaced by their own.  Returns false if a child decides the result.
 */
static bool
flatten(SniiQueryNodeType type, SniiQueryNode **children, uint32 nchildren,
		SniiQueryNode ***flat, uint32 *nflat)
{
	bool		conjunction = (type == SNII_QUERY_AND);
	uint64		n = 0;

	for (uint32 i = 0; i < nchildren; i++)
	{
		if (children[i]->type ==
			(conjunction ? SNII_QUERY_NONE : SNII_QUERY_ALL))
			return false;
		n += (children[i]->type == type) ? children[i]->nchildren : 1;
	}
	*flat = MemoryContextAllocHuge(CurrentMemoryContext,
								   (Size) (n + 1) * sizeof(SniiQueryNode *));
	*nflat = 0;
	for (uint32 i = 0; i < nchildren; i++)
	{
		SniiQueryNode *child = children[i];

		if (child->type == type)
		{
			memcpy(*flat + *nflat, child->children,
				   child->nchildren * sizeof(SniiQueryNode *));
			*nflat += child->nchildren;
		}
		else if (child->type != SNII_QUERY_NONE &&
				 child->type != SNII_QUERY_ALL)
			(*flat)[(*nflat)++] = child;
	}
	return true;
}

/*
 * AND or OR of the children, which are normalised.  Without children, AND is
 * ALL and OR is NONE.
 */
SniiQueryNode *
snii_query_node_children(SniiQueryNodeType type, SniiQueryNode **children,
						 uint32 nchildren)
{
	bool		conjunction = (type == SNII_QUERY_AND);
	SniiQueryNode *node;
	SniiQueryNode **flat;
	uint32		nflat;

	if (!flatten(type, children, nchildren, &flat, &nflat))
		return snii_query_node(conjunction ? SNII_QUERY_NONE : SNII_QUERY_ALL);
	nflat = remove_duplicates(flat, nflat);
	if (nflat == 0)
		return snii_query_node(conjunction ? SNII_QUERY_ALL : SNII_QUERY_NONE);
	if (nflat == 1)
		return flat[0];
	node = make_node(type);
	node->children = flat;
	node->nchildren = nflat;
	return hashed(node);
}

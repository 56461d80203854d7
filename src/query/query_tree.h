/*-------------------------------------------------------------------------
 *
 * query_tree.h
 *	  A query in memory: the tree that matchers and scans walk.
 *
 *-------------------------------------------------------------------------
 */
#ifndef SNII_QUERY_TREE_H
#define SNII_QUERY_TREE_H

/*
 * Kinds of nodes, as stored in values of sniiquery: never renumber.  8 to 15
 * are kept for prefix, wildcard, regexp, fuzzy, range and boost.
 */
typedef enum SniiQueryNodeType
{
	SNII_QUERY_NONE = 0,		/* no document */
	SNII_QUERY_ALL = 1,			/* every document whose column is not NULL */
	SNII_QUERY_TERM = 2,
	SNII_QUERY_PHRASE = 3,
	SNII_QUERY_AND = 4,
	SNII_QUERY_OR = 5,
	SNII_QUERY_NOT = 6			/* documents not NULL that the child lacks */
} SniiQueryNodeType;

typedef struct SniiQueryTerm
{
	/* the token as its analyzer made it; what is printed and stored */
	const char *token;
	uint32		token_len;
	uint32		position;		/* in its phrase; the first term has 0 */
	/* the same as a key of the dictionary; set by snii_query_tree() */
	int			kind;			/* SNII_TERM_PLAIN or SNII_TERM_LONG */
	uint32		len;
	const char *bytes;
} SniiQueryTerm;

typedef struct SniiQueryNode SniiQueryNode;
struct SniiQueryNode
{
	SniiQueryNodeType type;
	bool		in_order;		/* PHRASE; true, for now */
	uint32		slop;			/* PHRASE; 0, for now */
	uint32		nterms;			/* TERM: 1; PHRASE: at least 2 */
	SniiQueryTerm *terms;		/* by ascending position */
	uint32		nchildren;		/* AND, OR: at least 2; NOT: 1 */
	SniiQueryNode **children;
	uint32		hash;			/* of the normalised node; internal */
};

extern SniiQueryNode *snii_query_node(SniiQueryNodeType type);
extern SniiQueryNode *snii_query_node_terms(SniiQueryTerm *terms,
											uint32 nterms);
extern SniiQueryNode *snii_query_node_children(SniiQueryNodeType type,
											   SniiQueryNode **children,
											   uint32 nchildren);
extern SniiQueryNode *snii_query_node_not(SniiQueryNode *child);
extern int	snii_query_node_depth(const SniiQueryNode *node);
extern bool snii_query_node_equal(const SniiQueryNode *a,
								  const SniiQueryNode *b);

#endif							/* SNII_QUERY_TREE_H */

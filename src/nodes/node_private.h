/*
 * node_private.h: what the plan of a node holds in custom_private.
 */
#ifndef GPUSORT_NODE_PRIVATE_H
#define GPUSORT_NODE_PRIVATE_H

/* Members of the list, in this order; all survive copyObject and nodeToString. */
typedef enum GpusortPrivate
{
	PRIVATE_ATTNOS,				/* integer list */
	PRIVATE_SORTOPS,			/* OID list */
	PRIVATE_COLLATIONS,			/* OID list */
	PRIVATE_NULLS_FIRST,		/* integer list of booleans */
	PRIVATE_SHOWN,				/* integer list: the keys in custom_scan_tlist, for EXPLAIN */
	PRIVATE_VARIANT,			/* a String, or NULL: see our_node.h */
	PRIVATE_DETAILS				/* a list: what a variant needs to know besides */
} GpusortPrivate;

#endif

/*
 * our_node.h: the kinds of gpusort's plan nodes, which are all CustomScans.
 */
#ifndef GPUSORT_OUR_NODE_H
#define GPUSORT_OUR_NODE_H

#include "nodes/execnodes.h"
#include "nodes/extensible.h"

/* The members of a plan's custom_private, in this order; all survive copyObject and nodeToString. */
typedef enum GpusortPrivate
{
	PRIVATE_ATTNOS,				/* integer list */
	PRIVATE_SORTOPS,			/* OID list */
	PRIVATE_COLLATIONS,			/* OID list */
	PRIVATE_NULLS_FIRST,		/* integer list of booleans */
	PRIVATE_SHOWN,				/* integer list: the keys in custom_scan_tlist, for EXPLAIN */
	PRIVATE_VARIANT,			/* a String, or NULL: see OurNode */
	PRIVATE_DETAILS				/* a list: what a variant needs to know besides */
} GpusortPrivate;

/* A kind of node.  Kinds that EXPLAIN shows under one name share the plan's methods and differ by variant. */
typedef struct OurNode
{
	const CustomScanMethods *scan;	/* CreateCustomScanState is create_node_state */
	const char *variant;		/* what the plan's custom_private has at PRIVATE_VARIANT; NULL: nothing */
	CustomExecMethods exec;
	Size		state_bytes;	/* of a struct that begins with a CustomScanState */
	bool		sorts;			/* sorts the child's rows, whose columns it returns, in this process */
	bool		passes_limit;	/* its first rows are among the first rows of its children */
	MinimalTuple (*next_row) (CustomScanState *state); /* the next row forward, as it lies in memory; may be NULL */
	void		(*limit) (CustomScanState *state, LimitState *limit);	/* sets the Limit above; may be NULL */
} OurNode;

/* In _PG_init: registers a kind of node, here and with the server, whose workers find it by name. */
extern void register_node(const OurNode *node);

/* Returns a plan's kind of node, or NULL if that is not one of gpusort's. */
extern const OurNode *our_node(const Plan *plan);

/* Turns a plan without a variant into one of a variant, with that variant's details. */
extern void make_variant(CustomScan *scan, const char *variant, List *details);

/* CreateCustomScanState of all kinds: a state of zeros with the kind's methods. */
extern Node *create_node_state(CustomScan *scan);

#endif

/*
 * our_node.c: the kinds of gpusort's plan nodes, looked up by code for nodes of any kind.
 */
#include "postgres.h"

#include "nodes/value.h"

#include "our_node.h"

#define MAX_KINDS 16

static const OurNode *kinds[MAX_KINDS];
static int	nkinds;

void
register_node(const OurNode *node)
{
	Assert(nkinds < MAX_KINDS);
	kinds[nkinds++] = node;
	if (node->variant == NULL)
		RegisterCustomScanMethods(node->scan);
}

/* Returns the variant that a plan says it is, or NULL. */
static const char *
variant_of(const CustomScan *scan)
{
	if (list_length(scan->custom_private) <= PRIVATE_VARIANT || list_nth(scan->custom_private, PRIVATE_VARIANT) == NULL)
		return NULL;
	return strVal(list_nth(scan->custom_private, PRIVATE_VARIANT));
}

/* Returns true if a plan is of a kind. */
static bool
is_of_kind(const CustomScan *scan, const OurNode *kind)
{
	const char *variant;

	if (scan->methods != kind->scan)
		return false;
	variant = variant_of(scan);
	return kind->variant == NULL || variant == NULL ? kind->variant == variant : strcmp(kind->variant, variant) == 0;
}

const OurNode *
our_node(const Plan *plan)
{
	if (!IsA(plan, CustomScan))
		return NULL;
	for (int i = 0; i < nkinds; i++)
		if (is_of_kind((const CustomScan *) plan, kinds[i]))
			return kinds[i];
	return NULL;
}

void
make_variant(CustomScan *scan, const char *variant, List *details)
{
	Assert(list_length(scan->custom_private) == PRIVATE_VARIANT);
	scan->custom_private = lappend(list_copy(scan->custom_private), makeString(pstrdup(variant)));
	scan->custom_private = lappend(scan->custom_private, details);
}

Node *
create_node_state(CustomScan *scan)
{
	const OurNode *node = our_node(&scan->scan.plan);
	CustomScanState *css = (CustomScanState *) newNode(node->state_bytes, T_CustomScanState);

	css->methods = &node->exec;
	return (Node *) css;
}

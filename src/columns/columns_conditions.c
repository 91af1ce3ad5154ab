/*
 * columns_conditions.c: conditions of a query as tests of columns, or of members of groups.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_type_d.h"
#include "nodes/nodeFuncs.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "src/base/compat.h"
#include "columns_conditions.h"
#include "columns_strings.h"
#include "columns_terms.h"
#include "string_functions.h"

/* Returns true if values of a type can be converted exactly to be compared with a column of another. */
static bool
is_comparable(Oid column, Oid value, bool equality)
{
	switch (column)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case NUMERICOID:
			return terms_is_number(value);
		case FLOAT4OID:
		case FLOAT8OID:
			return value == FLOAT4OID || value == FLOAT8OID;
		case DATEOID:
		case TIMESTAMPOID:
			return value == DATEOID || value == TIMESTAMPOID;
		case TIMESTAMPTZOID:
			return value == DATEOID || value == TIMESTAMPOID || value == TIMESTAMPTZOID;
		case BOOLOID:
		case TIMEOID:
		case OIDOID:
			return value == column;
		default:
			/* uuids and enums are held in another order than theirs */
			return equality && value == column && !terms_is_string(column);
	}
}

/* Finds the test of an operator of a type's family.  Returns false if it is none of those. */
static bool
test_of(Oid op, Oid type, gs_test *test)
{
	static const gs_test tests[] = {GS_TEST_LT, GS_TEST_LE, GS_TEST_EQ, GS_TEST_GE, GS_TEST_GT};
	Oid			family = lookup_type_cache(type, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
	int			strategy = OidIsValid(family) ? get_op_opfamily_strategy(op, family) : 0;
	Oid			negator;

	if (strategy >= BTLessStrategyNumber && strategy <= BTGreaterStrategyNumber)
	{
		*test = tests[strategy - BTLessStrategyNumber];
		return true;
	}
	negator = get_negator(op);
	*test = GS_TEST_NE;
	return OidIsValid(family) && OidIsValid(negator) &&
		get_op_opfamily_strategy(negator, family) == BTEqualStrategyNumber;
}

/* Where conditions go. */
typedef struct Terms
{
	ColumnsQuery *query;
	bool		having;
	QueryTerms *terms;
} Terms;

/* Appends a test. */
static void
append_term(QueryTerms *terms, QueryTerm term)
{
	terms->terms = terms->count == 0 ? palloc_array(QueryTerm, 1) :
		repalloc_array(terms->terms, QueryTerm, terms->count + 1);
	terms->terms[terms->count++] = term;
}

/* Finds what a condition tests, and its base type.  Returns NULL, or why it cannot be tested. */
static const char *
find_tested(const Terms *into, Expr *expr, int *index, Oid *type)
{
	const char *why = NULL;

	if (into->having)
	{
		*index = terms_member(into->query, expr);
		*type = getBaseType(exprType((Node *) expr));
		return *index < 0 ? "a condition is not about a group" : NULL;
	}
	if (!terms_is_column(expr))
		return "a condition is not about a column";
	why = terms_column(into->query, expr, index);
	if (why == NULL)
		*type = terms_column_type(into->query, *index);
	return why;
}

/*
 * Has a function test strings, or what another one returns for them.  A value of another type than the operator's is
 * impossible, as casts are expressions.
 * Returns NULL, or why it cannot be done.
 */
static const char *
add_function(const Terms *into, Oid op, Oid collation, Expr *tested, Expr *right)
{
	QueryTerm	term = {.test = GS_TEST_IN_BITS, .type = exprType((Node *) right), .function = get_opcode(op),
	.collation = collation};
	Oid			type;
	const char *why;

	if (IsA(tested, FuncExpr))
	{
		term.call = string_function_call(into->query, (FuncExpr *) tested);
		tested = terms_without_casts(linitial(((FuncExpr *) tested)->args));
	}
	why = find_tested(into, tested, &term.column, &type);
	if (why != NULL)
		return why;
	into->query->needs_strings = true;
	term.value = terms_value(into->query, right);
	append_term(into->terms, term);
	return NULL;
}

/* Returns true if a function has to tell whether strings pass, as their codes do not. */
static bool
needs_function(const Terms *into, Oid op, Oid collation, Expr *tested, const Expr *right)
{
	Oid			compared = exprType((Node *) tested);
	gs_test		test;

	if (string_function_is(tested))
		return !into->having && (compared == TEXTOID ? strings_function(get_opcode(op)) :
								 strings_number_function(get_opcode(op)));
	if (into->having || !IsA(tested, Var) || !terms_is_string(getBaseType(compared)) ||
		!strings_function(get_opcode(op)) || !terms_is_value((Expr *) right))
		return false;
	return !test_of(op, getBaseType(compared), &test) || (test != GS_TEST_EQ && test != GS_TEST_NE) ||
		!terms_is_bytewise(collation);
}

/* Returns NULL, or why strings of a type, which are compared as another, are not compared by their codes. */
static const char *
string_refused(Oid type, Oid compared, const QueryTerm *term, Oid collation)
{
	if (term->type != (type == BPCHAROID ? BPCHAROID : TEXTOID) && !(type == NAMEOID && term->type == NAMEOID))
		return "a condition compares types that are not compared exactly";
	if (compared != (type == VARCHAROID ? TEXTOID : type))
		return "a condition compares types that are not compared exactly";
	if (term->test != GS_TEST_EQ && term->test != GS_TEST_NE)
		return "a condition is about the order of strings";
	return terms_is_bytewise(collation) ? NULL : "strings of other bytes may be equal";
}

/* Returns true for what conditions may be about: a column, a function of its strings, or an aggregate. */
static bool
is_tested(Expr *expr)
{
	const Expr *inner = terms_without_casts(expr);

	return terms_is_column(inner) || IsA(inner, Aggref) || string_function_is(expr);
}

/*
 * Adds a comparison of a column with a value, or an array of them, by a collation.  Returns NULL, or why it cannot be
 * done.
 */
static const char *
add_comparison(const Terms *into, Oid op, Oid collation, Expr *left, Expr *right, bool array)
{
	const char *other = "a condition is not a comparison of a column with a value";
	QueryTerm	term = {0};
	Expr	   *tested = terms_without_casts(left);
	Oid			compared = exprType((Node *) left);
	Oid			type;
	const char *why;

	if (!is_tested(left) || !terms_is_value(right))
		return other;
	if (!array && needs_function(into, op, collation, tested, right))
		return add_function(into, op, collation, tested, right);
	term.type = array ? get_element_type(exprType((Node *) right)) : exprType((Node *) right);
	if (!test_of(op, compared, &term.test) || (array && term.test != GS_TEST_EQ))
		return other;
	why = find_tested(into, tested, &term.column, &type);
	if (why == NULL && terms_is_string(type) && !into->having)
		why = string_refused(type, compared, &term, collation);
	else if (why == NULL && (!is_comparable(type, term.type, term.test == GS_TEST_EQ || term.test == GS_TEST_NE) ||
							 (compared != type && !is_comparable(compared, term.type, false))))
		why = "a condition compares types that are not compared exactly";
	if (why != NULL)
		return why;
	if (array)
		term.test = GS_TEST_IN;
	term.value = terms_value(into->query, right);
	append_term(into->terms, term);
	return NULL;
}

/* Adds a test of a column alone. */
static const char *
add_test(const Terms *into, Expr *expr, gs_test test, bool truth)
{
	QueryTerm	term = {.test = test, .value = -1, .type = BOOLOID, .truth = truth};
	Oid			type;
	const char *why = find_tested(into, terms_without_casts(expr), &term.column, &type);

	if (why == NULL && test == GS_TEST_EQ && type != BOOLOID)
		why = "a condition is not about a column";
	if (why == NULL)
		append_term(into->terms, term);
	return why;
}

/* Adds column IS [NOT] TRUE and such. */
static const char *
add_boolean_test(const Terms *into, const BooleanTest *test)
{
	switch (test->booltesttype)
	{
		case IS_TRUE:
			return add_test(into, test->arg, GS_TEST_EQ, true);
		case IS_FALSE:
			return add_test(into, test->arg, GS_TEST_EQ, false);
		case IS_UNKNOWN:
			return add_test(into, test->arg, GS_TEST_IS_NULL, false);
		case IS_NOT_UNKNOWN:
			return add_test(into, test->arg, GS_TEST_NOT_NULL, false);
		default:
			return "a condition is true for NULL and for a value";
	}
}

/* Returns true if values of two columns are compared as what is held of them. */
static bool
are_held_alike(const ColumnDescription *left, const ColumnDescription *right, bool equality)
{
	Oid			a = getBaseType(left->type);
	Oid			b = getBaseType(right->type);

	if (terms_is_number(a))
		return terms_is_number(b) && column_scale(left) == column_scale(right);
	if (a == FLOAT4OID || a == FLOAT8OID)
		return b == FLOAT4OID || b == FLOAT8OID;
	return a == b && is_comparable(a, b, equality);
}

/* Adds a comparison of two columns. */
static const char *
add_column_comparison(const Terms *into, gs_test test, Expr *left, Expr *right)
{
	QueryTerm	term = {.test = test};
	bool		equality = test == GS_TEST_EQ_COLUMN || test == GS_TEST_NE_COLUMN || test >= GS_TEST_DISTINCT_COLUMN;
	const char *why = into->having ? "a condition compares two members of a group" :
		terms_column(into->query, terms_without_casts(left), &term.column);

	if (why == NULL)
		why = terms_column(into->query, terms_without_casts(right), &term.value);
	if (why != NULL)
		return why;
	if (!are_held_alike(&into->query->columns[term.column], &into->query->columns[term.value], equality))
		return "a condition compares columns that are not held alike";
	append_term(into->terms, term);
	return NULL;
}

/* Returns true if both sides of an operator are columns. */
static bool
compares_columns(const OpExpr *op)
{
	return list_length(op->args) == 2 && terms_is_column(terms_without_casts(linitial(op->args))) &&
		terms_is_column(terms_without_casts(lsecond(op->args)));
}

/* Adds IS DISTINCT FROM of two columns, or the opposite. */
static const char *
add_distinct(const Terms *into, const OpExpr *op, bool distinct)
{
	gs_test		test;

	if (!compares_columns(op) || !test_of(op->opno, exprType(linitial(op->args)), &test) || test != GS_TEST_EQ)
		return "a condition has IS DISTINCT FROM that is not about two columns";
	return add_column_comparison(into, distinct ? GS_TEST_DISTINCT_COLUMN : GS_TEST_SAME_COLUMN, linitial(op->args),
								 lsecond(op->args));
}

/* Adds a comparison whose column may be on either side. */
static const char *
add_operator(const Terms *into, const OpExpr *op)
{
	Expr	   *left = linitial(op->args);
	Expr	   *right = list_length(op->args) == 2 ? lsecond(op->args) : NULL;
	gs_test		test;
	Oid			commuted;

	if (right == NULL)
		return "a condition is not a comparison of a column with a value";
	if (compares_columns(op) && test_of(op->opno, exprType((Node *) left), &test))
		return add_column_comparison(into, GS_TEST_EQ_COLUMN + (test - GS_TEST_EQ), left, right);
	if (is_tested(left))
		return add_comparison(into, op->opno, op->inputcollid, left, right, false);
	commuted = get_commutator(op->opno);
	if (!OidIsValid(commuted))
		return "a condition is not a comparison of a column with a value";
	return add_comparison(into, commuted, op->inputcollid, right, left, false);
}

static const char *add_conditions(const Terms *into, List *conditions);

/* Adds a condition. */
static const char *
add_condition(const Terms *into, Expr *condition)
{
	switch (nodeTag(condition))
	{
		case T_OpExpr:
			return add_operator(into, (OpExpr *) condition);
		case T_ScalarArrayOpExpr:
			{
				const ScalarArrayOpExpr *op = (ScalarArrayOpExpr *) condition;

				if (!op->useOr)
					return "a condition has NOT IN or ALL";
				return add_comparison(into, op->opno, op->inputcollid, linitial(op->args), lsecond(op->args), true);
			}
		case T_NullTest:
			if (((NullTest *) condition)->argisrow)
				return "a condition is not about a column";
			return add_test(into, ((NullTest *) condition)->arg,
							((NullTest *) condition)->nulltesttype == IS_NULL ? GS_TEST_IS_NULL : GS_TEST_NOT_NULL,
							false);
		case T_BooleanTest:
			return add_boolean_test(into, (BooleanTest *) condition);
		case T_BoolExpr:
			if (((BoolExpr *) condition)->boolop == AND_EXPR)
				return add_conditions(into, ((BoolExpr *) condition)->args);
			if (((BoolExpr *) condition)->boolop == OR_EXPR)
				return "a condition has OR";
			if (IsA(linitial(((BoolExpr *) condition)->args), DistinctExpr))
				return add_distinct(into, linitial(((BoolExpr *) condition)->args), false);
			return add_test(into, linitial(((BoolExpr *) condition)->args), GS_TEST_EQ, false);
		case T_DistinctExpr:
			return add_distinct(into, (OpExpr *) condition, true);
		case T_Var:
		case T_WindowFunc:
		case T_RelabelType:
			return add_test(into, condition, GS_TEST_EQ, true);
		default:
			return "a condition is not a comparison of a column with a value";
	}
}

/* Adds conditions. */
static const char *
add_conditions(const Terms *into, List *conditions)
{
	const char *why = NULL;
	ListCell   *lc;

	foreach(lc, conditions)
	{
		why = add_condition(into, lfirst(lc));
		if (why != NULL)
			break;
	}
	return why;
}

const char *
conditions_add(ColumnsQuery *query, List *conditions, bool having, QueryTerms *terms)
{
	Terms		into = {query, having, terms};

	return add_conditions(&into, conditions);
}

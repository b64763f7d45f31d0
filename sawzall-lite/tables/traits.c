/* What each kind of table asks of its declaration. */
#include "base/core/panic.h"
#include "sawzall-lite/tables/table.h"

#define PARAM_MAX INT64_C(0x7fffffff)

static const struct saw_table_traits all[] = {
    {.name = "collection", .kind = SAW_TABLE_COLLECTION, .indexed = true},
    {.name = "sum",
     .kind = SAW_TABLE_SUM,
     .indexed = true,
     .element_addable = true},
    {.name = "maximum",
     .kind = SAW_TABLE_MAXIMUM,
     .param = SAW_TABLE_MUST,
     .weight = SAW_TABLE_MUST,
     .param_max = PARAM_MAX,
     .indexed = true,
     .weight_ordered = true},
    {.name = "minimum",
     .kind = SAW_TABLE_MINIMUM,
     .param = SAW_TABLE_MUST,
     .weight = SAW_TABLE_MUST,
     .param_max = PARAM_MAX,
     .indexed = true,
     .weight_ordered = true},
    {.name = "top",
     .kind = SAW_TABLE_TOP,
     .param = SAW_TABLE_MUST,
     .weight = SAW_TABLE_MUST,
     .param_max = 1000,
     .indexed = true,
     .weight_number = true},
    {.name = "unique",
     .kind = SAW_TABLE_UNIQUE,
     .param = SAW_TABLE_MUST,
     .param_max = PARAM_MAX,
     .indexed = true},
    {.name = "quantile",
     .kind = SAW_TABLE_QUANTILE,
     .param = SAW_TABLE_MUST,
     .param_max = PARAM_MAX,
     .indexed = true,
     .element_ordered = true},
    {.name = "set",
     .kind = SAW_TABLE_SET,
     .param = SAW_TABLE_MUST,
     .param_max = PARAM_MAX,
     .indexed = true},
    {.name = "sample",
     .kind = SAW_TABLE_SAMPLE,
     .param = SAW_TABLE_MUST,
     .param_max = PARAM_MAX,
     .indexed = true},
    {.name = "weightedsample",
     .kind = SAW_TABLE_WEIGHTEDSAMPLE,
     .param = SAW_TABLE_MUST,
     .weight = SAW_TABLE_MUST,
     .param_min = 1,
     .param_max = PARAM_MAX,
     .indexed = true,
     .weight_scalar = true},
    {.name = "distinctsample",
     .kind = SAW_TABLE_DISTINCTSAMPLE,
     .param = SAW_TABLE_MUST,
     .weight = SAW_TABLE_MUST,
     .param_max = PARAM_MAX,
     .indexed = true,
     .weight_ordered = true,
     .weight_addable = true},
    {.name = "inversehistogram",
     .kind = SAW_TABLE_INVERSEHISTOGRAM,
     .param = SAW_TABLE_MUST,
     .weight = SAW_TABLE_MUST,
     .param_max = PARAM_MAX,
     .indexed = true,
     .weight_ordered = true,
     .weight_addable = true},
    {.name = "bootstrapsum",
     .kind = SAW_TABLE_BOOTSTRAPSUM,
     .param = SAW_TABLE_MUST,
     .weight = SAW_TABLE_MUST,
     .param_max = 10000,
     .indexed = true,
     .element_number = true,
     .weight_fingerprint = true},
    {.name = "mrcounter", .kind = SAW_TABLE_MRCOUNTER, .element_int = true},
    {.name = "text", .kind = SAW_TABLE_TEXT},
    {.name = "recordio",
     .kind = SAW_TABLE_RECORDIO,
     .param = SAW_TABLE_MUST,
     .param_max = PARAM_MAX},
};

const struct saw_table_traits *saw_table_traits_find(struct slice name)
{
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (slice_eq_str(name, all[i].name))
            return &all[i];
    }
    return NULL;
}

const struct saw_table_traits *saw_table_traits(enum saw_table_kind kind)
{
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        if (all[i].kind == kind)
            return &all[i];
    }
    PANIC("table kind %d", (int)kind);
}

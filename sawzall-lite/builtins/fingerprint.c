/* fingerprintof(): a walk by type; see fingerprint.h for the definition, which
 * is part of stored data and never changes. */
#include "sawzall-lite/builtins/fingerprint.h"

#include "base/core/panic.h"
#include "sawzall-lite/builtins/private.h"

static uint64_t
fingerprint_at(const struct saw_type *t, union saw_slot v, unsigned depth);

static uint64_t
of_items(const struct saw_type *t, union saw_slot v, unsigned depth)
{
    bool array = t->kind == SAW_ARRAY;
    size_t n = array ? v.a->len : t->field_count;
    uint64_t fp = saw_fingerprint_word(0);
    for (size_t i = 0; i < n; i++) {
        uint64_t item =
            array ? fingerprint_at(t->elem, v.a->items[i], depth)
                  : fingerprint_at(t->fields[i].type, v.t->fields[i], depth);
        fp = saw_fingerprint_cat(fp, item);
    }
    return fp;
}

static uint64_t
of_map(const struct saw_type *t, const struct saw_map *m, unsigned depth)
{
    uint64_t fp = saw_fingerprint_word(0);
    for (uint32_t i = 0; i < m->count; i++)
        fp ^= saw_fingerprint_cat(
            fingerprint_at(t->key, m->entries[i].key, depth),
            fingerprint_at(t->elem, m->entries[i].value, depth));
    return fp;
}

/* The place of its code in the program and, if it uses variables of the
 * functions around it, where the frame of those lies: the same in every run of
 * the program on the same record. */
static uint64_t of_function(const struct saw_closure *c)
{
    uint64_t fp = saw_fingerprint_word(c->callee->index);

    return saw_fingerprint_cat(
        fp, saw_fingerprint_word(c->callee->uses_env ? c->env + 1 : 0));
}

static uint64_t
fingerprint_at(const struct saw_type *t, union saw_slot v, unsigned depth)
{
    if (depth > SAW_VALUE_DEPTH_MAX)
        return 0;
    switch (t->kind) {
    case SAW_BOOL:
    case SAW_FINGERPRINT:
    case SAW_FLOAT:
    case SAW_INT:
    case SAW_TIME:
    case SAW_UINT: return saw_fingerprint_word(v.u);
    case SAW_BYTES:
    case SAW_STRING: return hash64_slice(saw_str_slice(v.s));
    case SAW_ARRAY:
    case SAW_TUPLE: return of_items(t, v, depth + 1);
    case SAW_MAP: return of_map(t, v.m, depth + 1);
    case SAW_FUNCTION: return of_function(v.c);
    case SAW_TABLE:
    case SAW_VOID:
    case SAW_INCOMPLETE:
    case SAW_BAD: break;
    }
    PANIC("no fingerprint of a value of kind %d", (int)t->kind);
}

uint64_t saw_value_fingerprint(const struct saw_type *t, union saw_slot v)
{
    return fingerprint_at(t, v, 0);
}

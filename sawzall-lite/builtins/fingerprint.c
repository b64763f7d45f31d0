/* fingerprintof(): see fingerprint.h. */
#include "sawzall-lite/builtins/fingerprint.h"

#include "base/core/panic.h"
#include "sawzall-lite/builtins/private.h"

static uint64_t of_items(const struct saw_type *t, union saw_slot v)
{
    bool array = t->kind == SAW_ARRAY;
    size_t n = array ? v.a->len : t->field_count;
    uint64_t fp = saw_fingerprint_word(0);
    for (size_t i = 0; i < n; i++) {
        uint64_t item =
            array ? saw_value_fingerprint(t->elem, v.a->items[i])
                  : saw_value_fingerprint(t->fields[i].type, v.t->fields[i]);
        fp = saw_fingerprint_cat(fp, item);
    }
    return fp;
}

static uint64_t of_map(const struct saw_type *t, const struct saw_map *m)
{
    uint64_t fp = saw_fingerprint_word(0);
    for (uint32_t i = 0; i < m->count; i++)
        fp ^= saw_fingerprint_cat(
            saw_value_fingerprint(t->key, m->entries[i].key),
            saw_value_fingerprint(t->elem, m->entries[i].value));
    return fp;
}

uint64_t saw_value_fingerprint(const struct saw_type *t, union saw_slot v)
{
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
    case SAW_TUPLE: return of_items(t, v);
    case SAW_MAP: return of_map(t, v.m);
    case SAW_FUNCTION:
    case SAW_TABLE:
    case SAW_VOID:
    case SAW_INCOMPLETE:
    case SAW_BAD: break;
    }
    PANIC("no fingerprint of a value of kind %d", (int)t->kind);
}

/* Help on predeclared names, for the shell's completion and `explain`; see
 * sawzall.h. Intrinsics carry their help in builtins/; the functions and
 * constants of the compiler itself have theirs here. */
#include "base/core/macros.h"
#include "sawzall-lite/sawzall.h"
#include "sawzall-lite/values/builtin.h"

struct entry {
    const char *name;
    const char *what; /* "function", "constant", … */
    const char *help;
};

/* The names that the compiler provides itself. */
static const struct entry entries[] = {
    {"bool", "type", "true or false"},
    {"bytes", "type", "a sequence of bytes"},
    {"fingerprint", "type", "a hash of 64 bits"},
    {"float", "type", "a floating-point number of 64 bits"},
    {"int", "type", "an integer of 64 bits"},
    {"string", "type", "a sequence of Unicode characters"},
    {"time", "type", "microseconds since 1970"},
    {"uint", "type", "an integer of 64 bits without sign"},
    {"Cell", "type", "{ time: time, value: bytes }"},
    {"Row", "type", "{ key: bytes, column: map[string] of array of Cell }"},
    {"true", "constant", "of bool"},
    {"false", "constant", "of bool"},
    {"PI", "constant", "3.14159265358979"},
    {"inf", "constant", "the infinite float; also Inf"},
    {"Inf", "constant", "the infinite float"},
    {"nan", "constant", "the float that is no number; also NaN"},
    {"NaN", "constant", "the float that is no number"},
    {"SECOND", "constant", "1000000T; also SEC"},
    {"SEC", "constant", "1000000T"},
    {"MINUTE", "constant", "60 seconds; also MIN"},
    {"MIN", "constant", "60 seconds"},
    {"HOUR", "constant", "3600 seconds; also HR"},
    {"HR", "constant", "3600 seconds"},
    {"input", "variable", "bytes: the record"},
    {"input_key", "variable", "bytes: its key"},
    {"output", "table", "bytes, written to standard output as they are"},
    {"stdout", "table", "strings, a line each on standard output"},
    {"stderr", "table", "strings, a line each on standard error"},
    {"keep", "table", "rows a scan returns: emit keep <- r;"},
    {"_undef_cnt", "table", "how many records met an undefined value"},
    {"_undef_details", "table", "where they met it, and why"},
    {"def", "function", "def(x): whether x has a value"},
    {"convert", "function", "convert(T, x, …): x as a T; also T(x, …)"},
    {"new", "function",
     "new(T, n, x): an array, string or bytes of n times x, or a map"},
    {"regex", "function",
     "regex(T, base): the pattern of numbers of type int, uint or float"},
    {"len", "function", "len(x): items of an array or map, characters, bytes"},
    {"haskey", "function", "haskey(m, k): whether a map has the key"},
    {"lookup", "function", "lookup(m, k, d): m[k], or d where it has none"},
    {"inproto", "function", "inproto(p.f): whether the field is set"},
    {"clearproto", "function", "clearproto(p.f): unset the field"},
    {"cell", "function",
     "cell(r, \"family:qualifier\"): the newest value of a column"},
    {"saw", "function",
     "saw(s, pattern, …): what each pattern matches, one after the other"},
    {"sawn", "function", "sawn(n, s, pattern, …): the same, n times"},
    {"sawzall", "function",
     "sawzall(s, pattern, …): the same, until one does not match"},
    {"DEBUG", "function", "DEBUG(\"print\", format, …): print while debugging"},
    {"___undefine", "function", "___undefine(x): make a variable undefined"},
    {"___heapcheck", "function", "nothing here"},
    {"___addressof", "function", "nothing here: 0"},
};

const char *saw_predeclared(size_t index)
{
    const struct saw_builtin *b;

    if (index < ARRAY_LEN(entries))
        return entries[index].name;
    b = saw_builtin_at(index - ARRAY_LEN(entries));
    return b ? b->name : NULL;
}

bool saw_explain(struct slice name, struct buf *out)
{
    const struct saw_builtin *b;
    size_t i;

    for (i = 0; i < ARRAY_LEN(entries); i++) {
        if (slice_eq_str(name, entries[i].name)) {
            buf_printf(out, "%s: %s\n    %s\n", entries[i].name,
                       entries[i].what, entries[i].help);
            return true;
        }
    }
    b = saw_builtin_find(name);
    if (!b)
        return false;
    buf_printf(out, "%s: %s\n", b->name,
               b->signature ? b->signature : "function");
    if (b->help)
        buf_printf(out, "    %s\n", b->help);
    return true;
}

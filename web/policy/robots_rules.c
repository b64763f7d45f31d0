/* The text is read twice: the first reading finds out whether a group names the
 * robot or those of "*" count, the second keeps their rules. */
#include "web/policy/robots_rules.h"

#include <string.h>
#include <strings.h>

#include "base/core/arena.h"
#include "base/core/macros.h"
#include "base/core/panic.h"

enum robots_key {
    ROBOTS_OTHER,
    ROBOTS_AGENT,
    ROBOTS_ALLOW,
    ROBOTS_DISALLOW,
};

struct robots_line {
    enum robots_key key;
    struct slice value;
};

static bool robots_is(struct slice s, const char *word)
{
    return s.len == strlen(word) && strncasecmp(s.data, word, s.len) == 0;
}

/* The next line of *@text, which it is cut off; lines end in CR, LF or both. */
static struct robots_line robots_next(struct slice *text)
{
    static const struct {
        const char *name;
        enum robots_key key;
    } keys[] = {{"user-agent", ROBOTS_AGENT},
                {"allow", ROBOTS_ALLOW},
                {"disallow", ROBOTS_DISALLOW}};
    struct robots_line out = {ROBOTS_OTHER, SLICE_EMPTY};
    size_t n = 0;
    struct slice line, name;
    while (n < text->len && text->data[n] != '\n' && text->data[n] != '\r')
        n++;
    line = slice_sub(*text, 0, n);
    *text = slice_sub(*text, n + 1, text->len);
    line = slice_sub(line, 0, slice_find_byte(line, '#'));
    n = slice_find_byte(line, ':');
    if (n == line.len)
        return out;
    name = slice_trim(slice_sub(line, 0, n));
    out.value = slice_trim(slice_sub(line, n + 1, line.len));
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (robots_is(name, keys[i].name))
            out.key = keys[i].key;
    return out;
}

/* "archiver" of "archiver/1.0 (http://…)". */
static struct slice robots_product(struct slice value)
{
    size_t n = 0;
    while (n < value.len && value.data[n] != '/' && value.data[n] != ' ' &&
           value.data[n] != '\t')
        n++;
    return slice_sub(value, 0, n);
}

/* Walk over the rules of the groups for @agent. With @out NULL they are only
 * counted; *@named: a group of that name was seen. */
static size_t robots_walk(struct slice text,
                          const char *agent,
                          struct arena *arena,
                          struct robots_rule *out,
                          bool *named)
{
    bool is_ours = false;
    bool in_agents = false; /* The line before named an agent, too. */
    size_t count = 0;
    *named = false;
    while (text.len) {
        struct robots_line line = robots_next(&text);
        if (line.key == ROBOTS_AGENT) {
            bool is_named = robots_is(robots_product(line.value), agent);
            is_ours = (in_agents && is_ours) || is_named;
            in_agents = true;
            *named |= is_named;
        } else if (line.key != ROBOTS_OTHER) {
            in_agents = false;
            /* "Disallow:" forbids nothing. */
            if (!is_ours || line.value.len == 0)
                continue;
            if (out)
                out[count] = (struct robots_rule){line.key == ROBOTS_ALLOW,
                                                  arena_dup(arena, line.value)};
            count++;
        }
    }
    return count;
}

void robots_rules_read(struct slice text,
                       const char *agent,
                       struct arena *arena,
                       struct robots_rules *out)
{
    bool named;
    size_t count;
    PRE(agent && *agent);
    text = slice_sub(text, 0, ROBOTS_BYTES_MAX);
    if (slice_starts_with(text, SLICE_LIT("\xef\xbb\xbf")))
        text = slice_sub(text, 3, text.len);
    count = robots_walk(text, agent, arena, NULL, &named);
    if (!named) {
        agent = "*";
        count = robots_walk(text, agent, arena, NULL, &named);
    }
    *out = (struct robots_rules){.count = count};
    if (count == 0)
        return;
    out->at = arena_zalloc(arena, count * sizeof(*out->at));
    count = robots_walk(text, agent, arena, out->at, &named);
    POST(count == out->count);
}

/* Does @path begin with what @pattern means? By the last star alone: where a
 * longer match of an earlier star exists, the last one makes up for it. */
static bool pattern_fits(struct slice pattern, struct slice path)
{
    bool to_end = pattern.len && pattern.data[pattern.len - 1] == '$';
    size_t p = 0;
    size_t s = 0;
    size_t star = SIZE_MAX;
    size_t star_s = 0;
    if (to_end)
        pattern.len--;
    for (;;) {
        if (p == pattern.len && (!to_end || s == path.len))
            return true;
        if (p < pattern.len && pattern.data[p] == '*') {
            star = p++;
            star_s = s;
        } else if (p < pattern.len && s < path.len &&
                   pattern.data[p] == path.data[s]) {
            p++;
            s++;
        } else if (star != SIZE_MAX && star_s < path.len) {
            p = star + 1;
            s = ++star_s;
        } else {
            return false;
        }
    }
}

bool robots_rules_allow(const struct robots_rules *rules, struct slice path)
{
    bool allowed = true;
    size_t longest = 0;
    for (size_t i = 0; i < rules->count; i++) {
        const struct robots_rule *r = &rules->at[i];
        if (r->pattern.len < longest ||
            (r->pattern.len == longest && !r->is_allowed))
            continue;
        if (pattern_fits(r->pattern, path)) {
            longest = r->pattern.len;
            allowed = r->is_allowed;
        }
    }
    return allowed;
}

// The only file that sees RE2, and the only one in C++.
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" // C11 headers.
#include "base/regex/regex.h"
#include "base/regex/regex_chain.h"
#pragma GCC diagnostic pop
}

#include <cstring>
#include <mutex>
#include <new>
#include <re2/re2.h>
#include <string>

// Debian's shared RE2 hides its hooks, the static one has them: null where this
// is linked with the former.
namespace re2
{
namespace hooks
{
void SetDFASearchFailureHook(DFASearchFailureCallback *cb)
    __attribute__((weak));
} // namespace hooks
} // namespace re2

// A pattern that is only text, perhaps bound to an end: no automaton needed.
struct literal {
    bool is = false;
    bool at_begin = false;
    bool at_end = false;
    std::string text;
};

struct regex {
    re2::RE2 re;
    struct literal literal;
    uint64_t program_size = 1;           // Instructions.
    struct regex_chain *chain = nullptr; // Owned; null: the pattern is none.

    ~regex()
    {
        regex_chain_free(chain);
    }

    regex(re2::StringPiece pattern, const re2::RE2::Options &options)
        : re(pattern, options)
    {
    }
};

namespace
{

// Groups beyond these are matched but not reported.
constexpr int groups_max = 128;

// RE2 runs a DFA where it can, and an NFA when the DFA has too many states. The
// NFA looks at every instruction of the program at every byte; this many steps
// for each is what it takes at most (measured: 15 to 20 ns).
constexpr uint64_t nfa_steps = 10;
// The DFA takes less than a step a byte; its states are made from the program.
// Without the hook an NFA cannot be told from a DFA: then every search costs
// more, a compromise between harmless patterns and the worst ones.
constexpr uint64_t dfa_divisor = 128;
constexpr uint64_t blind_divisor = 8;
// Bytes behind a match are looked at only by patterns that hope for a longer
// one.
constexpr uint64_t behind_divisor = 1024;
// A bit per instruction and position: up to this many RE2 finds groups by
// backtracking, which is cheap.
constexpr uint64_t bit_state_max = 256 * 1024;

// Thrown through RE2 by the hook when the DFA has failed and the search that
// would follow was not paid for. The hook runs while RE2 holds no locks.
struct dfa_failed {
};

thread_local bool refuse_nfa = false;

void on_dfa_failure(const re2::hooks::DFASearchFailure &)
{
    if (refuse_nfa)
        throw dfa_failed{};
}

std::once_flag hook_once;

re2::StringPiece piece(struct slice s)
{
    return re2::StringPiece(s.data ? s.data : "", s.len);
}

// "^text$" with either end open. Only ASCII, so that encodings do not matter.
struct literal literal_of(struct slice pattern)
{
    struct literal l;
    size_t i = 0;
    size_t end = pattern.len;

    l.at_begin = end > 0 && pattern.data[0] == '^';
    i = l.at_begin ? 1 : 0;
    l.at_end = end > i && pattern.data[end - 1] == '$';
    end -= l.at_end ? 1 : 0;
    l.is = end > i;
    for (; i < end && l.is; i++) {
        char c = pattern.data[i];
        if (c < ' ' || c > '~' || memchr("\\.+*?()|[]{}^$", c, 15))
            l.is = false;
        else
            l.text.push_back(c);
    }
    return l;
}

bool literal_at(const struct literal &l, struct slice text, size_t at)
{
    size_t n = l.text.size();
    return text.len >= n && at <= text.len - n &&
           memcmp(text.data + at, l.text.data(), n) == 0;
}

// Where the literal is found at or after @start; false: nowhere.
bool literal_search(const struct literal &l,
                    struct slice text,
                    size_t start,
                    struct slice *found)
{
    size_t n = l.text.size();
    size_t at = start;

    if (text.len < n || start > text.len - n)
        return false;
    if (l.at_end) {
        at = text.len - n;
        if ((l.at_begin && at != 0) || !literal_at(l, text, at))
            return false;
    } else if (l.at_begin) {
        if (start != 0 || !literal_at(l, text, 0))
            return false;
    } else {
        const void *p =
            memmem(text.data + start, text.len - start, l.text.data(), n);
        if (!p)
            return false;
        at = static_cast<size_t>(static_cast<const char *>(p) - text.data);
    }
    *found = slice{text.data + at, n};
    return true;
}

} // namespace

extern "C" int regex_new(struct slice pattern,
                         enum regex_encoding encoding,
                         struct regex **out,
                         struct err *err)
{
    re2::RE2::Options options;
    options.set_log_errors(false);
    options.set_max_mem(REGEX_BYTES_MAX);
    if (encoding == REGEX_BYTES)
        options.set_encoding(re2::RE2::Options::EncodingLatin1);
    if (re2::hooks::SetDFASearchFailureHook)
        std::call_once(hook_once, [] {
            re2::hooks::SetDFASearchFailureHook(on_dfa_failure);
        });
    *out = new (std::nothrow) struct regex(piece(pattern), options);
    if (!*out)
        return err_set(err, ERR_NOMEM, "regular expression: out of memory");
    if (!(*out)->re.ok()) {
        int code =
            err_set(err, ERR_INVALID, "bad regular expression `%.*s`: %s",
                    SLICE_ARG(pattern), (*out)->re.error().c_str());
        delete *out;
        *out = nullptr;
        return code;
    }
    if ((*out)->re.ProgramSize() > 0)
        (*out)->program_size = static_cast<uint64_t>((*out)->re.ProgramSize());
    (*out)->literal = literal_of(pattern);
    if (!(*out)->literal.is)
        (*out)->chain = regex_chain_new(pattern, encoding == REGEX_UTF8);
    return 0;
}

extern "C" void regex_free(struct regex *r)
{
    delete r;
}

extern "C" int regex_group_count(const struct regex *r)
{
    return r->re.NumberOfCapturingGroups();
}

extern "C" bool regex_full_match(const struct regex *r, struct slice text)
{
    re2::StringPiece t = piece(text);
    if (r->literal.is)
        return text.len == r->literal.text.size() &&
               literal_at(r->literal, text, 0);
    return r->re.Match(t, 0, t.size(), re2::RE2::ANCHOR_BOTH, nullptr, 0);
}

namespace
{

// The search by RE2's automata.
bool automaton_search(const struct regex *r,
                      struct slice text,
                      size_t start,
                      struct slice *groups,
                      size_t group_count)
{
    re2::StringPiece t = piece(text);
    re2::StringPiece found[groups_max];
    int want =
        group_count < groups_max ? static_cast<int>(group_count) : groups_max;
    if (!r->re.Match(t, start, t.size(), re2::RE2::UNANCHORED, found, want))
        return false;
    for (size_t i = 0; i < group_count; i++) {
        if (i < static_cast<size_t>(want))
            groups[i] = slice{found[i].data(), found[i].size()};
        else
            groups[i] = slice{nullptr, 0};
    }
    return true;
}

} // namespace

extern "C" bool regex_search(const struct regex *r,
                             struct slice text,
                             size_t start,
                             struct slice *groups,
                             size_t group_count)
{
    if (r->literal.is) {
        struct slice whole;
        if (!literal_search(r->literal, text, start, &whole))
            return false;
        for (size_t i = 0; i < group_count; i++)
            groups[i] = i == 0 ? whole : slice{nullptr, 0};
        return true;
    }
    if (start > text.len)
        return false;
    if (r->chain) {
        enum regex_chain_outcome o =
            regex_chain_search(r->chain, text, start, groups, group_count);
        if (o != REGEX_CHAIN_UNSURE)
            return o == REGEX_CHAIN_FOUND;
    }
    return automaton_search(r, text, start, groups, group_count);
}

namespace
{

// True if @cost could be taken off @steps.
bool pay(uint64_t *steps, uint64_t cost)
{
    if (cost > *steps)
        return false;
    *steps -= cost;
    return true;
}

// Search, paying for an NFA if it comes to one.
enum regex_outcome search_paid(const struct regex *r,
                               struct slice text,
                               size_t start,
                               struct slice *groups,
                               size_t group_count,
                               uint64_t *steps)
{
    uint64_t len = text.len - start;
    bool found;
    try {
        refuse_nfa = true;
        found = regex_search(r, text, start, groups, group_count);
        refuse_nfa = false;
    } catch (const dfa_failed &) {
        refuse_nfa = false;
        if (!pay(steps, len * r->program_size * nfa_steps))
            return REGEX_TOO_DEAR;
        found = regex_search(r, text, start, groups, group_count);
    }
    return found ? REGEX_FOUND : REGEX_ABSENT;
}

} // namespace

extern "C" uint64_t regex_search_steps(const struct regex *r, size_t len)
{
    uint64_t divisor =
        re2::hooks::SetDFASearchFailureHook ? dfa_divisor : blind_divisor;
    if (r->literal.is)
        return len / 16 + 8;
    return len * (r->program_size + 32) / divisor + 16;
}

extern "C" enum regex_outcome regex_search_within(const struct regex *r,
                                                  struct slice text,
                                                  size_t start,
                                                  struct slice *groups,
                                                  size_t group_count,
                                                  uint64_t *steps)
{
    uint64_t size = r->program_size;
    uint64_t len = start < text.len ? text.len - start : 0;
    uint64_t cost = regex_search_steps(r, len);
    struct slice whole[1];
    enum regex_outcome outcome;

    if (start > text.len)
        return REGEX_ABSENT;
    if (r->literal.is) {
        if (!pay(steps, cost))
            return REGEX_TOO_DEAR;
        return regex_search(r, text, start, groups, group_count) ? REGEX_FOUND
                                                                 : REGEX_ABSENT;
    }
    if (group_count > 1 && len * size > bit_state_max) {
        // The groups of a long match are found by the NFA.
        outcome = search_paid(r, text, start, whole, 1, steps);
        if (outcome == REGEX_FOUND && whole[0].len * size > bit_state_max &&
            !pay(steps, whole[0].len * size * nfa_steps))
            outcome = REGEX_TOO_DEAR;
        if (outcome == REGEX_FOUND)
            outcome = search_paid(r, text, start, groups, group_count, steps);
    } else {
        outcome = search_paid(r, text, start, groups, group_count, steps);
    }
    if (outcome == REGEX_FOUND && group_count > 0) {
        // Mostly what is behind the match was not looked at.
        uint64_t end =
            static_cast<uint64_t>(groups[0].data - text.data) + groups[0].len;
        cost = regex_search_steps(r, end - start) + len / behind_divisor;
    }
    return outcome != REGEX_TOO_DEAR && pay(steps, cost) ? outcome
                                                         : REGEX_TOO_DEAR;
}

extern "C" uint64_t regex_compile_steps(const struct regex *r)
{
    return 5000 + 200 * r->program_size;
}

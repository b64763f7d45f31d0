// The only file that sees RE2, and the only one in C++.
extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" // C11 headers.
#include "base/regex/regex.h"
#pragma GCC diagnostic pop
}

#include <new>
#include <re2/re2.h>

struct regex {
    re2::RE2 re;

    regex(re2::StringPiece pattern, const re2::RE2::Options &options)
        : re(pattern, options)
    {
    }
};

namespace
{

// Groups beyond these are matched but not reported.
constexpr int groups_max = 64;

re2::StringPiece piece(struct slice s)
{
    return re2::StringPiece(s.data ? s.data : "", s.len);
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
    return r->re.Match(t, 0, t.size(), re2::RE2::ANCHOR_BOTH, nullptr, 0);
}

extern "C" bool regex_search(const struct regex *r,
                             struct slice text,
                             size_t start,
                             struct slice *groups,
                             size_t group_count)
{
    re2::StringPiece t = piece(text);
    re2::StringPiece found[groups_max];
    int want =
        group_count < groups_max ? static_cast<int>(group_count) : groups_max;
    if (start > t.size())
        return false;
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

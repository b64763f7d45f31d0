/* Robots are forbidden what robots.txt says: RFC 9309's own examples, and a
 * matcher that agrees with a slower one on any rules and paths. */
#include <string.h>

#include "base/core/arena.h"
#include "base/core/rand.h"
#include "tests/lib/check_main.h"
#include "web/policy/archive_policy.h"
#include "web/policy/robots_rules.h"

static bool allows(const char *text, const char *agent, const char *path)
{
    struct arena arena;
    struct robots_rules rules;
    bool ok;
    arena_init(&arena);
    robots_rules_read(slice_str(text), agent, &arena, &rules);
    ok = robots_rules_allow(&rules, slice_str(path));
    arena_close(&arena);
    return ok;
}

/* The group that names the robot counts alone, in any case; groups of one name
 * are one; several names share a group. */
START_TEST(test_groups)
{
    const char *text = "User-Agent: foobot\nDisallow: /a\n"
                       "user-agent : *\r\nDisallow: /b # all\r\n\r\n"
                       "User-agent: barbot/2.0\rUser-agent: Foobot\r"
                       "Sitemap: http://a/\rDisallow: /c\r";
    ck_assert(!allows(text, "FOOBOT", "/a/x"));
    ck_assert(!allows(text, "foobot", "/c"));
    ck_assert(allows(text, "foobot", "/b"));
    ck_assert(!allows(text, "barbot", "/c"));
    ck_assert(allows(text, "barbot", "/a"));
    ck_assert(!allows(text, "other", "/b"));
    ck_assert(allows(text, "other", "/a"));
    ck_assert(allows("Disallow: /\n", "foobot", "/"));
    ck_assert(allows("User-agent: *\nDisallow:\n", "foobot", "/"));
    ck_assert(!allows("\xef\xbb\xbfUser-agent: *\nDisallow: /", "a", "/"));
}

END_TEST

/* The longest rule decides, and of two as long the one that allows. */
START_TEST(test_longest)
{
    const char *text = "User-agent: *\nDisallow: /example/page/\n"
                       "Allow: /example/page/ok\nDisallow: /*.gif$\n"
                       "Disallow: /same\nAllow: /same\nDisallow: /Case";
    ck_assert(!allows(text, "a", "/example/page/x"));
    ck_assert(allows(text, "a", "/example/page/ok.gif.x"));
    ck_assert(!allows(text, "a", "/pic.gif"));
    ck_assert(allows(text, "a", "/pic.gif?x"));
    ck_assert(allows(text, "a", "/same"));
    ck_assert(allows(text, "a", "/case"));
}

END_TEST

/* By the definition, all ways tried. */
static bool model_fits(const char *pattern, const char *path)
{
    if (*pattern == '\0')
        return true;
    if (*pattern == '$' && pattern[1] == '\0')
        return *path == '\0';
    if (*pattern == '*')
        return model_fits(pattern + 1, path) ||
               (*path && model_fits(pattern, path + 1));
    return *path == *pattern && model_fits(pattern + 1, path + 1);
}

/* One rule and a path of a small alphabet, so that many fit. */
START_TEST(test_matching)
{
    struct rand_gen r;
    size_t fits = 0;
    rand_init(&r, test_seed());
    for (int i = 0; i < 20000; i++) {
        char rule[80] = "User-agent: *\nDisallow: ";
        char path[10] = "";
        size_t n = strlen(rule);
        size_t begin = n;
        size_t k = rand_below(&r, sizeof(path));
        rule[n++] = '/';
        while (n < begin + 1 + rand_below(&r, 9))
            rule[n++] = "ab/*$"[rand_below(&r, 5)];
        rule[n] = '\0';
        for (size_t j = 0; j < k; j++)
            path[j] = j ? "ab/$"[rand_below(&r, 4)] : '/';
        bool want = model_fits(rule + begin, path);
        ck_assert_msg(allows(rule, "x", path) == !want, "%s: %s", rule + begin,
                      path);
        fits += want;
    }
    ck_assert(fits > 100);
}

END_TEST

/* The robots.txt of a capture's time counts, of its site alone; a rule of the
 * list counts more. */
START_TEST(test_policy)
{
    struct archive_policy *p = archive_policy_new();
    struct archive_subject s = {.surt = SLICE_LIT("example,a)/x"),
                                .row = SLICE_LIT("example.a/x")};
    struct slice reason;
    archive_policy_honour_robots(p, "bot");
    ck_assert_int_eq(archive_policy_add_robots(
                         p, SLICE_LIT("example.a"), 100,
                         SLICE_LIT("User-agent: *\nDisallow: /"), NULL),
                     0);
    ck_assert_int_eq(archive_policy_add_robots(p, SLICE_LIT("example.a"), 200,
                                               SLICE_EMPTY, NULL),
                     0);
    for (s.time_us = 50; s.time_us < 300; s.time_us += 50) {
        ck_assert(archive_policy_allows(p, &s, &reason) == (s.time_us >= 200));
        ck_assert((reason.len > 0) == (s.time_us < 200));
    }
    s.time_us = 150;
    s.row = SLICE_LIT("example.a:8080/x");
    ck_assert(archive_policy_allows(p, &s, &reason));
    s.row = SLICE_LIT("example.a/robots.txt");
    ck_assert(archive_policy_allows(p, &s, &reason));
    s.row = SLICE_LIT("example.a/x");
    ck_assert_int_eq(
        archive_policy_read(p, SLICE_LIT("allow a.example"), "list", NULL), 0);
    ck_assert(archive_policy_allows(p, &s, &reason));
    archive_policy_free(p);
}

END_TEST

TEST_MAIN("robots_rules", test_groups, test_longest, test_matching, test_policy)

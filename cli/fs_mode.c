/* Modes of files, in letters and digits, as chmod(1) takes them, but without
 * groups: "g" is refused with a hint to roles, and the octal digit of the group
 * must repeat the last one.
 */
#include "cli/fs_mode.h"

#include <string.h>

#include "gfs-lite/gfs.h"

#define OTHERS_BITS (GFS_OTHERS_READ | GFS_OTHERS_WRITE | GFS_OTHERS_EXECUTE)
#define OWNER_SHIFT 3
#define OWNER_BITS  (OTHERS_BITS << OWNER_SHIFT)

void fs_mode_put(uint32_t mode, bool is_directory, char out[FS_MODE_BYTES])
{
    static const char letters[] = "rwxrwx";
    out[0] = is_directory ? 'd' : '-';
    for (unsigned i = 0; i < 6; i++)
        out[i + 1] = mode & ((uint32_t)GFS_OWNER_READ >> i) ? letters[i] : '-';
    out[7] = mode & GFS_STICKY ? 't' : '\0';
    out[8] = '\0';
}

static int bad_mode(const char *text, const char *why, struct err *err)
{
    err_set(err, ERR_INVALID, "the mode \"%.40s\": %s", text, why);
    err_hint(err, "750 (octal), or changes as u+w,o-rwx,a=r, with u the owner, "
                  "o all others, a both, and +t for a sticky directory");
    return ERR_INVALID;
}

static int
parse_octal(const char *text, size_t len, uint32_t *mode, struct err *err)
{
    uint32_t digits[4] = {0};
    size_t first = 4 - len;
    if (len < 2 || len > 4)
        return bad_mode(text, "two to four octal digits", err);
    for (size_t i = 0; i < len; i++)
        digits[first + i] = (uint32_t)(text[i] - '0');
    if (len == 2) { /* Owner, others. */
        digits[1] = digits[2];
        digits[2] = digits[3];
    }
    if (digits[2] != digits[3])
        return bad_mode(text,
                        "files have no groups: the digit before the last must "
                        "be the last one",
                        err);
    if (digits[0] > 1)
        return bad_mode(text, "of the first of four digits 1 is known, sticky",
                        err);
    *mode = digits[0] * GFS_STICKY | digits[1] << OWNER_SHIFT | digits[3];
    return 0;
}

static uint32_t bits_of(char letter)
{
    switch (letter) {
    case 'r': return GFS_OTHERS_READ | GFS_OWNER_READ;
    case 'w': return GFS_OTHERS_WRITE | GFS_OWNER_WRITE;
    case 'x': return GFS_OTHERS_EXECUTE | GFS_OWNER_EXECUTE;
    case 't': return GFS_STICKY;
    default: return 0;
    }
}

/* The letters before the sign: whose bits. None: all. */
static const char *parse_who(const char *at, uint32_t *whose, bool *has_group)
{
    *whose = 0;
    for (; *at && strchr("uoag", *at); at++) {
        *has_group |= *at == 'g';
        if (*at != 'o')
            *whose |= OWNER_BITS;
        if (*at != 'u')
            *whose |= OTHERS_BITS;
    }
    if (*whose == 0)
        *whose = OWNER_BITS | OTHERS_BITS;
    *whose |= GFS_STICKY;
    return at;
}

/* One of those between commas; *@at is moved behind it. */
static int
change_one(const char *text, const char **at, uint32_t *mode, struct err *err)
{
    bool has_group = false;
    uint32_t whose;
    uint32_t bits = 0;
    char sign;
    *at = parse_who(*at, &whose, &has_group);
    if (has_group)
        return bad_mode(text,
                        "files have no groups; roles are given rights by "
                        "quarry acl grant --path",
                        err);
    sign = **at;
    if (sign == '\0' || !strchr("+-=", sign))
        return bad_mode(text, "no +, - or = where one is expected", err);
    for (++*at; **at && **at != ','; ++*at) {
        if (bits_of(**at) == 0)
            return bad_mode(text, "the letters are r, w, x and t", err);
        bits |= bits_of(**at);
    }
    if (sign == '=')
        *mode &= ~(whose & ~(uint32_t)GFS_STICKY);
    if (sign == '-')
        *mode &= ~(bits & whose);
    else
        *mode |= bits & whose;
    return 0;
}

int fs_mode_change(const char *text, uint32_t *mode, struct err *err)
{
    size_t len = strlen(text);
    const char *at = text;
    int rc = 0;
    if (len > 0 && strspn(text, "01234567") == len)
        return parse_octal(text, len, mode, err);
    while (rc == 0) {
        rc = change_one(text, &at, mode, err);
        if (*at != ',')
            break;
        at++;
    }
    return rc;
}

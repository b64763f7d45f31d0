// The only file that sees CLD2, in C++ because that library is. Its header uses
// FILE and includes nothing for it.
#include <cstdio>

extern "C" {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic" // C11 headers.
#include "mapreduce/warc/language_guess.h"
#pragma GCC diagnostic pop
}

#include <cld2/public/compact_lang_det.h>
#include <cld2/public/encodings.h>
#include <cstring>
#include <string>

// More text says nothing new, and the library counts in int.
static const size_t read_bytes_max = size_t{256} << 10;
// Shorter texts are names and addresses.
static const int text_bytes_min = 24;

// The text up to the last whole character of the first read_bytes_max bytes.
static size_t bytes_to_read(struct slice text)
{
    size_t n = text.len;
    if (n <= read_bytes_max)
        return n;
    n = read_bytes_max;
    while (n > 0 && (static_cast<unsigned char>(text.data[n]) & 0xc0) == 0x80)
        n--;
    return n;
}

// "zh-hant" of the library's "zh-Hant"; old codes by their newer names.
static bool put_code(CLD2::Language language, char *code)
{
    const char *name = CLD2::LanguageCode(language);
    if (std::strcmp(name, "iw") == 0)
        name = "he";
    if (std::strcmp(name, "jw") == 0)
        name = "jv";
    if (std::strlen(name) >= LANGUAGE_CODE_BYTES ||
        std::strncmp(name, "un", 3) == 0 || std::strncmp(name, "xx", 2) == 0)
        return false;
    do
        *code++ = static_cast<char>(*name >= 'A' && *name <= 'Z' ? *name | 0x20
                                                                 : *name);
    while (*name++);
    return true;
}

extern "C" bool language_guess(struct slice text,
                               struct slice declared,
                               char code[LANGUAGE_CODE_BYTES])
{
    std::string hint(declared.len ? declared.data : "",
                     declared.len > 64 ? 64 : declared.len);
    CLD2::CLDHints hints = {hint.c_str(), nullptr, CLD2::UNKNOWN_ENCODING,
                            CLD2::UNKNOWN_LANGUAGE};
    CLD2::Language best[3];
    int percent[3];
    double score[3];
    int text_bytes = 0;
    int valid = 0;
    bool reliable = false;
    size_t n = bytes_to_read(text);
    code[0] = '\0';
    if (n == 0)
        return false;
    CLD2::Language language = CLD2::ExtDetectLanguageSummaryCheckUTF8(
        text.data, static_cast<int>(n), true, &hints, 0, best, percent, score,
        nullptr, &text_bytes, &reliable, &valid);
    if (!reliable || text_bytes < text_bytes_min ||
        static_cast<size_t>(valid) < n)
        return false;
    return put_code(language, code);
}

/* SPDX-License-Identifier: GPL-2.0-only */
/* Any parts as a natural key: never longer than the limit, and cutting the same bytes into parts at
   another place gives another key. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "natural_key.h"
#include "utf8.h"

#define PARTS_MAX 8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct cut {
    struct idem_part parts[PARTS_MAX];
    size_t count;
};

/* The first bytes say where to cut the rest. */
static struct cut cut_at(const uint8_t *cuts, size_t count, const char *text, size_t length)
{
    struct cut cut = {.count = count};

    for (size_t i = 0; i < count; i++) {
        size_t take = i + 1 == count || cuts[i] > length ? length : cuts[i];

        cut.parts[i] = (struct idem_part){.text = text, .length = take};
        text += take;
        length -= take;
    }
    return cut;
}

static int same_cut(const struct cut *a, const struct cut *b)
{
    if (a->count != b->count)
        return 0;
    for (size_t i = 0; i < a->count; i++)
        if (a->parts[i].length != b->parts[i].length)
            return 0;
    return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char key[2][IDEM_KEY_MAX];
    size_t length[2];
    struct cut cut[2];
    const char *text;

    if (size < 2 + 2 * PARTS_MAX)
        return 0;
    text = (const char *)data + 2 + 2 * PARTS_MAX;
    size -= 2 + 2 * PARTS_MAX;
    for (int i = 0; i < 2; i++) {
        cut[i] = cut_at(data + 2 + i * PARTS_MAX, 1 + data[i] % PARTS_MAX, text, size);
        length[i] = idem_natural_key(cut[i].parts, cut[i].count, key[i]);
        if (length[i] == 0 || length[i] > IDEM_KEY_MAX)
            abort();
        /* A key of UTF-8 parts is UTF-8: idem_claim takes it. */
        if (idem_utf8_valid(text, size) && cut[i].count == 1 && !idem_utf8_valid(key[i], length[i]))
            abort();
    }
    if ((length[0] == length[1] && memcmp(key[0], key[1], length[0]) == 0) !=
        same_cut(&cut[0], &cut[1]))
        abort();
    return 0;
}

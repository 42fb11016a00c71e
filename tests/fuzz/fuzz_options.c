/* SPDX-License-Identifier: GPL-2.0-only */
/* Any bytes as idemd's command line, or as its option file: read or refused, never a crash or a
   leak. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <getopt.h>

#include "exit.h"
#include "options.h"

#define WORDS_MAX 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char file_option[64];

/* A file of our own, and private: idemd refuses one that anybody can write. */
static int file(void)
{
    static int descriptor = -1;

    if (descriptor < 0) {
        char path[] = "/tmp/idem-fuzz-XXXXXX";

        descriptor = mkstemp(path);
        if (descriptor < 0)
            abort();
        unlink(path);
        snprintf(file_option, sizeof(file_option), "--defaults-file=/proc/self/fd/%d", descriptor);
    }
    return descriptor;
}

static void write_file(const char *group, const uint8_t *data, size_t size)
{
    size_t head = strlen(group);

    if (ftruncate(file(), 0) != 0 || pwrite(file(), group, head, 0) != (ssize_t)head ||
        pwrite(file(), data, size, (off_t)head) != (ssize_t)size)
        abort();
}

/* The first byte says what the others are: an option file from its beginning or from within
   [idemd], words, or options. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *words[WORDS_MAX + 3] = {"idemd", NULL}, room[WORDS_MAX][256], *line, *text;
    struct idem_options options;
    int count = 1, code;

    /* An option file may include others; those of this machine are not for us. */
    if (size == 0 || memchr(data, '/', size) != NULL)
        return 0;
    text = strndup((const char *)data + 1, size - 1);
    if (text == NULL)
        abort();
    if (data[0] % 4 < 2) {
        write_file(data[0] % 4 == 0 ? "" : "[idemd]\n", data + 1, size - 1);
        words[count++] = file_option;
        words[count++] = "status";
    } else {
        words[count++] = "--no-defaults";
        for (line = strtok(text, "\n"); line != NULL && count < WORDS_MAX;
             line = strtok(NULL, "\n")) {
            snprintf(room[count], sizeof(room[count]), "%s%s", data[0] % 4 == 2 ? "" : "--", line);
            words[count] = room[count];
            count++;
        }
    }
    optind = 0;
    code = idem_options_read(&options, count, words);
    if (code != IDEM_EXIT_OK && code != IDEM_EXIT_USAGE && code != -1)
        abort();
    idem_options_free(&options);
    free(text);
    return 0;
}

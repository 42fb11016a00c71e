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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *words[WORDS_MAX + 3] = {"idemd", NULL}, *line, *text;
    struct idem_options options;
    int count = 1, code;

    /* An option file may include others; those of this machine are not for us. */
    if (size == 0 || memchr(data, '/', size) != NULL)
        return 0;
    text = strndup((const char *)data + 1, size - 1);
    if (text == NULL)
        abort();
    if (data[0] % 2 == 0) {
        if (ftruncate(file(), 0) != 0 ||
            pwrite(file(), data + 1, size - 1, 0) != (ssize_t)(size - 1))
            abort();
        words[count++] = file_option;
        words[count++] = "status";
    } else {
        words[count++] = "--no-defaults";
        for (line = strtok(text, "\n"); line != NULL && count < WORDS_MAX;
             line = strtok(NULL, "\n"))
            words[count++] = line;
    }
    optind = 0;
    code = idem_options_read(&options, count, words);
    if (code != IDEM_EXIT_OK && code != IDEM_EXIT_USAGE && code != -1)
        abort();
    idem_options_free(&options);
    free(text);
    return 0;
}

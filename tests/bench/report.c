/* SPDX-License-Identifier: GPL-2.0-only */
/* The table and the JSON. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

#define LINES_MAX 256

struct line {
    char id[8], setting[48], name[80], unit[16];
    struct spread ours, theirs, ratio;
    bool compared; /* there is a peer */
    enum direction direction;
    double target;
    const char *skipped;
};

static struct line lines[LINES_MAX];
static size_t line_count;

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

struct spread spread_of(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), by_size);
    return (struct spread){values[count / 2], values[0], values[count - 1]};
}

static const char *verdict(const struct line *line)
{
    double value = line->compared ? line->ratio.median : line->ours.median;

    if (line->skipped != NULL)
        return "SKIPPED";
    if (line->direction == FOR_INFORMATION)
        return "";
    return (line->direction == AT_LEAST ? value >= line->target : value <= line->target) ? "met"
                                                                                         : "MISSED";
}

static void print_line(const struct line *line)
{
    char numbers[64], ratio[64], target[32] = "";

    if (line->skipped != NULL) {
        printf("%-3s SKIPPED: %s\n", line->id, line->skipped);
        fflush(stdout);
        return;
    }
    if (line->direction != FOR_INFORMATION)
        snprintf(target, sizeof(target), "%s %.4g",
                 line->direction == AT_LEAST ? ">=" : "<=", line->target);
    if (line->compared) {
        snprintf(numbers, sizeof(numbers), "%.4g : %.4g %s", line->ours.median, line->theirs.median,
                 line->unit);
        snprintf(ratio, sizeof(ratio), "%.2f (%.2f-%.2f)", line->ratio.median, line->ratio.low,
                 line->ratio.high);
    } else {
        snprintf(numbers, sizeof(numbers), "%.4g %s", line->ours.median, line->unit);
        ratio[0] = '\0';
    }
    printf("%-3s %-28s %-44s %-24s %-19s %-8s %s\n", line->id, line->setting, line->name, numbers,
           ratio, target, verdict(line));
    fflush(stdout);
}

static struct line *new_line(const char *id)
{
    static bool headed;
    struct line *line = &lines[line_count < LINES_MAX - 1 ? line_count++ : line_count];

    if (!headed)
        printf("%-3s %-28s %-44s %-24s %-19s %-8s\n", "", "setting", "ours : theirs", "medians",
               "ratio (lowest-high)", "target");
    headed = true;
    memset(line, 0, sizeof(*line));
    snprintf(line->id, sizeof(line->id), "%s", id);
    return line;
}

void report(const char *id, const char *setting, const char *ours_name, const char *theirs_name,
            const char *unit, struct spread ours, struct spread theirs, struct spread ratio,
            enum direction direction, double target)
{
    struct line *line = new_line(id);

    snprintf(line->setting, sizeof(line->setting), "%s", setting);
    snprintf(line->name, sizeof(line->name), "%s : %s", ours_name, theirs_name);
    snprintf(line->unit, sizeof(line->unit), "%s", unit);
    line->ours = ours;
    line->theirs = theirs;
    line->ratio = ratio;
    line->compared = true;
    line->direction = direction;
    line->target = target;
    print_line(line);
}

void report_slices(const char *id, const char *setting, const struct work *works, size_t ours,
                   size_t theirs, char field, struct slice slices[ROUNDS_MAX][WORKS_MAX],
                   unsigned int rounds, enum direction direction, double target)
{
    double a[ROUNDS_MAX] = {0}, b[ROUNDS_MAX] = {0}, ratio[ROUNDS_MAX] = {0};
    uint64_t errors = 0;

    for (unsigned int round = 0; round < rounds; round++) {
        const struct slice *x = &slices[round][ours], *y = &slices[round][theirs];

        a[round] = field == 'r' ? x->per_second : field == 'm' ? x->median_us[0] : x->cpu_us;
        b[round] = field == 'r' ? y->per_second : field == 'm' ? y->median_us[0] : y->cpu_us;
        ratio[round] = b[round] > 0 ? a[round] / b[round] : 0;
        errors += x->errors + y->errors;
    }
    report(id, setting, works[ours].name, works[theirs].name,
           field == 'r'   ? "/s"
           : field == 'm' ? "us"
                          : "us CPU",
           spread_of(a, rounds), spread_of(b, rounds), spread_of(ratio, rounds), direction, target);
    if (errors > 0)
        report_number(id, setting, "errors in these slices", "", (double)errors, AT_MOST, 0);
}

void report_number(const char *id, const char *setting, const char *what, const char *unit,
                   double number, enum direction direction, double target)
{
    struct line *line = new_line(id);

    snprintf(line->setting, sizeof(line->setting), "%s", setting);
    snprintf(line->name, sizeof(line->name), "%s", what);
    snprintf(line->unit, sizeof(line->unit), "%s", unit);
    line->ours = (struct spread){number, number, number};
    line->direction = direction;
    line->target = target;
    print_line(line);
}

void report_skipped(const char *id, const char *why)
{
    struct line *line = new_line(id);

    line->skipped = why;
    print_line(line);
    fprintf(stderr, "bench: %s SKIPPED: %s\n", id, why);
}

static void json_spread(FILE *file, const char *name, struct spread spread)
{
    fprintf(file, ",\"%s\":{\"median\":%.6g,\"low\":%.6g,\"high\":%.6g}", name, spread.median,
            spread.low, spread.high);
}

void report_finish(void)
{
    FILE *file = options.json != NULL ? fopen(options.json, "w") : NULL;

    if (file == NULL)
        return;
    fprintf(file, "{\"scale\":\"%s\",\"link\":\"%s\",\"lines\":[", options.full ? "full" : "small",
            options.netem ? "netem" : "paused client");
    for (size_t i = 0; i < line_count; i++) {
        const struct line *line = &lines[i];

        fprintf(file, "%s\n{\"id\":\"%s\",\"setting\":\"%s\",\"measure\":\"%s\",\"verdict\":\"%s\"",
                i > 0 ? "," : "", line->id, line->setting, line->name, verdict(line));
        if (line->skipped != NULL) {
            fprintf(file, ",\"why\":\"%s\"}", line->skipped);
            continue;
        }
        fprintf(file, ",\"unit\":\"%s\"", line->unit);
        json_spread(file, "ours", line->ours);
        if (line->compared) {
            json_spread(file, "theirs", line->theirs);
            json_spread(file, "ratio", line->ratio);
        }
        if (line->direction != FOR_INFORMATION)
            fprintf(file, ",\"target\":\"%s %.6g\"",
                    line->direction == AT_LEAST ? ">=" : "<=", line->target);
        fprintf(file, "}");
    }
    fprintf(file, "\n]}\n");
    fclose(file);
}

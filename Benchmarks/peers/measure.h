/* * Shared by the clients in C and C++: the command line, the clocks, and the line printed at the end. */
#pragma once
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

struct measure {
    const char *mode; /* "ping", "receive" or "send" */
    int port;
    size_t size, count;
    size_t warm_up; /* round trips before the clock starts */
    double wall, cpu;
    double *samples; /* of each round trip, in microseconds */
    size_t sampled;
};

static inline double measure_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* The processor time of this process so far, of all its threads. */
static inline double measure_cpu(void) {
    struct timespec used;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

static inline int measure_is(const struct measure *measure, const char *mode) { return strcmp(measure->mode, mode) == 0; }

static inline struct measure measure_parse(int argc, char **argv) {
    struct measure measure;
    memset(&measure, 0, sizeof measure);
    if (argc == 5) {
        measure.mode = argv[1];
        measure.port = atoi(argv[2]);
        measure.size = strtoull(argv[3], NULL, 10);
        measure.count = strtoull(argv[4], NULL, 10);
    }
    if (argc != 5 || !(measure_is(&measure, "ping") || measure_is(&measure, "receive") || measure_is(&measure, "send"))) {
        fprintf(stderr, "usage: %s ping|receive|send PORT SIZE COUNT\n", argv[0]);
        exit(2);
    }
    if (measure_is(&measure, "ping")) {
        measure.warm_up = measure.count / 10 + 1 < 2000 ? measure.count / 10 + 1 : 2000;
        measure.samples = (double *)malloc(measure.count * sizeof(double));
    }
    return measure;
}

static inline const char *measure_path(const struct measure *measure) {
    return measure_is(measure, "ping") ? "/echo" : measure_is(measure, "send") ? "/sink" : "/blast";
}

static inline void measure_start(struct measure *measure) {
    measure->wall = measure_now();
    measure->cpu = measure_cpu();
}

static inline void measure_stop(struct measure *measure) {
    measure->wall = measure_now() - measure->wall;
    measure->cpu = measure_cpu() - measure->cpu;
}

static inline void measure_sample(struct measure *measure, double seconds) {
    measure->samples[measure->sampled++] = seconds * 1e6;
}

static inline void measure_fail(const char *what, unsigned long long got, unsigned long long wanted) {
    fprintf(stderr, "%s: %llu instead of %llu\n", what, got, wanted);
    exit(1);
}

static inline void measure_check(const char *what, unsigned long long got, unsigned long long wanted) {
    if (got != wanted) measure_fail(what, got, wanted);
}

static inline int measure_ascending(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

static inline void measure_print(struct measure *measure) {
    printf("{\"messages\": %zu, \"seconds\": %.9f, \"cpu\": %.9f", measure->count, measure->wall, measure->cpu);
    if (measure->sampled > 0) {
        qsort(measure->samples, measure->sampled, sizeof(double), measure_ascending);
        printf(", \"p50\": %.3f, \"p99\": %.3f", measure->samples[measure->sampled / 2], measure->samples[measure->sampled * 99 / 100]);
    }
    printf("}\n");
}

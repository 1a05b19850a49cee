// The processor time and memory of another process, from Linux's /proc.
#pragma once
#include "net.h"
#include <dirent.h>

// The exact sum over all its threads, from the scheduler.
static inline double cpu_seconds(int pid) {
    char path[300];
    snprintf(path, sizeof path, "/proc/%d/task", pid);
    DIR *threads = opendir(path);
    if (!threads) fail(path);
    double sum = 0;
    for (struct dirent *entry; (entry = readdir(threads));) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "/proc/%d/task/%.20s/schedstat", pid, entry->d_name);
        FILE *file = fopen(path, "r");
        unsigned long long nanoseconds;
        if (!file) continue; // that thread has just ended
        if (fscanf(file, "%llu", &nanoseconds) == 1) sum += nanoseconds * 1e-9;
        fclose(file);
    }
    closedir(threads);
    return sum;
}

struct memory {
    long resident, anonymous; // bytes; anonymous: without the pages of program files
};

static inline struct memory memory_of(int pid) {
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", pid);
    FILE *file = fopen(path, "r");
    if (!file) fail(path);
    struct memory memory = {0};
    while (fgets(line, sizeof line, file)) {
        long kibibytes;
        if (sscanf(line, "Rss: %ld kB", &kibibytes) == 1) memory.resident = kibibytes * 1024;
        if (sscanf(line, "Anonymous: %ld kB", &kibibytes) == 1) memory.anonymous = kibibytes * 1024;
    }
    fclose(file);
    return memory;
}

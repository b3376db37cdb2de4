// The spread of waiting times that the machine itself makes: threads that only count, without a server, a network or memory.
//
// Usage: gcc -O2 -march=native -pthread -o spread spread.c
//        ./spread apart THREADS MILLISECONDS IN_A_ROW SECONDS [numbers]
//        ./spread together THREADS ALONE MILLISECONDS SECONDS [numbers]
//
// apart: each thread does a piece of MILLISECONDS again and again. A client of a server with as many workers that has IN_A_ROW requests before it
// waits for as many pieces in a row. together: one thread does ALONE milliseconds, then all do MILLISECONDS each and wait for each other, as a
// prediction on several threads after decoding does. The p99/p50 is what no server on this machine stays below.
//
// A piece multiplies vectors, as an engine does: it needs the whole of a core, so it also shows what runs on the other half of one (another
// virtual machine, perhaps). With "numbers" it adds one number to another, each after the one before, which leaves most of a core unused.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 100000, VECTORS = 10 };
typedef float vector __attribute__((vector_size(32)));
struct thread {
    pthread_t thread;
    long count;
    double waits[MOST];
};
static long steps_of_a_millisecond = 100000;
static int is_numbers, in_a_row, others;
static double milliseconds, alone, end;
static volatile float sink;
static atomic_long started, finished;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static void work(double wanted) {
    long steps = steps_of_a_millisecond * wanted;
    vector values[VECTORS] = {0};
    float number = 1;
    if (is_numbers)
        for (long step = 0; step < steps; step++) number = number * 1.0001f + 0.1f;
    else
        for (long step = 0; step < steps; step++)
            for (int index = 0; index < VECTORS; index++) values[index] = values[index] * 1.0001f + 0.1f;
    for (int index = 0; index < VECTORS; index++) number += values[index][0];
    sink = number;
}

static void *apart(void *argument) {
    struct thread *self = argument;
    while (self->count < MOST && now() < end) {
        double before = now();
        for (int piece = 0; piece < in_a_row; piece++) work(milliseconds);
        self->waits[self->count++] = now() - before;
    }
    return NULL;
}

static void *help(void *unused) {
    for (long seen = 0;;) {
        long started_now = atomic_load(&started);
        if (started_now < 0) return unused;
        if (started_now == seen) continue;
        seen = started_now;
        work(milliseconds);
        atomic_fetch_add(&finished, 1);
    }
}

static void *together(void *argument) {
    struct thread *self = argument;
    while (self->count < MOST && now() < end) {
        double before = now();
        work(alone);
        atomic_fetch_add(&started, 1);
        work(milliseconds);
        while (atomic_load(&finished) < (self->count + 1) * others) continue;
        self->waits[self->count++] = now() - before;
    }
    atomic_store(&started, -1);
    return NULL;
}

static int compare(const void *one, const void *other) {
    double difference = *(const double *)one - *(const double *)other;
    return difference < 0 ? -1 : difference > 0;
}

int main(int count, char **arguments) {
    if (count < 6) {
        fprintf(stderr, "usage: spread apart THREADS MILLISECONDS IN_A_ROW SECONDS [numbers]\n"
                        "       spread together THREADS ALONE MILLISECONDS SECONDS [numbers]\n");
        return 64;
    }
    int is_apart = !strcmp(arguments[1], "apart"), threads = atoi(arguments[2]);
    is_numbers = count > 6 && !strcmp(arguments[6], "numbers");
    alone = atof(arguments[3]);
    milliseconds = is_apart ? alone : atof(arguments[4]);
    in_a_row = atoi(arguments[4]);
    others = threads - 1;
    // The fastest of several, so that a pause does not make the pieces short.
    double fastest = 1e9;
    for (int round = 0; round < 50; round++) {
        double before = now();
        work(1);
        if (now() - before < fastest) fastest = now() - before;
    }
    steps_of_a_millisecond /= fastest;
    end = now() + atof(arguments[5]) * 1e3;
    struct thread *all = calloc(threads, sizeof *all);
    for (int index = 0; index < threads; index++) pthread_create(&all[index].thread, NULL, is_apart ? apart : index ? help : together, &all[index]);
    long waits = 0;
    double *sorted = calloc((size_t)threads * MOST, sizeof *sorted);
    for (int index = 0; index < threads; index++) {
        pthread_join(all[index].thread, NULL);
        memcpy(sorted + waits, all[index].waits, all[index].count * sizeof *sorted);
        waits += all[index].count;
    }
    qsort(sorted, waits, sizeof *sorted, compare);
    double p50 = sorted[waits / 2], p99 = sorted[waits * 99 / 100];
    printf("%ld waits, p50 %.2f ms, p99 %.2f ms, p99/p50 %.2f\n", waits, p50, p99, p99 / p50);
    free(sorted);
    free(all);
}

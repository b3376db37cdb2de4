// The spread of waiting times that the machine itself makes: threads that only count, without a server, a network or memory.
//
// Usage: gcc -O2 -pthread -o spread spread.c && ./spread [THREADS [MILLISECONDS [IN_A_ROW [SECONDS]]]]
//
// Each thread does the same work again and again. A client of a server with as many workers that has IN_A_ROW requests before it waits for as
// many pieces in a row: their p99/p50 is what no server on this machine stays below.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MOST = 100000 };
struct thread {
    pthread_t thread;
    long count;
    double waits[MOST];
};
static long steps;
static int in_a_row;
static double end;
static volatile double sink;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

static void work(void) {
    double value = 1;
    for (long step = 0; step < steps; step++) value = value * 1.0000001 + 0.1;
    sink = value;
}

static void *run(void *argument) {
    struct thread *self = argument;
    while (self->count < MOST && now() < end) {
        double before = now();
        for (int piece = 0; piece < in_a_row; piece++) work();
        self->waits[self->count++] = now() - before;
    }
    return NULL;
}

static int compare(const void *one, const void *other) {
    double difference = *(const double *)one - *(const double *)other;
    return difference < 0 ? -1 : difference > 0;
}

int main(int count, char **arguments) {
    int threads = count > 1 ? atoi(arguments[1]) : 2;
    double milliseconds = count > 2 ? atof(arguments[2]) : 4;
    in_a_row = count > 3 ? atoi(arguments[3]) : 4;
    double seconds = count > 4 ? atof(arguments[4]) : 10;
    struct thread *all = calloc(threads, sizeof *all);
    steps = 1000000;
    double before = now();
    work();
    steps = steps * milliseconds / 1e3 / (now() - before);
    end = now() + seconds;
    for (int index = 0; index < threads; index++) pthread_create(&all[index].thread, NULL, run, &all[index]);
    for (int index = 0; index < threads; index++) {
        pthread_join(all[index].thread, NULL);
        qsort(all[index].waits, all[index].count, sizeof(double), compare);
        double p50 = all[index].waits[all[index].count / 2], p99 = all[index].waits[all[index].count * 99 / 100];
        printf("thread %d: %ld waits, p50 %.2f ms, p99 %.2f ms, p99/p50 %.2f\n", index, all[index].count, p50 * 1e3, p99 * 1e3, p99 / p50);
    }
    free(all);
}

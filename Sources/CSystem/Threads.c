#define _GNU_SOURCE 1
#include "CSystem.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

struct thread_start {
    void (*body)(void *);
    void *argument;
    char name[16];
};

static void *thread_main(void *raw) {
    struct thread_start start = *(struct thread_start *)raw;
    free(raw);
    // Set the name here, not in the starting thread: this detached thread may end before, which invalidates its handle.
    pthread_setname_np(pthread_self(), start.name);
    start.body(start.argument);
    return NULL;
}

int csys_thread_start(const char *name, void (*body)(void *), void *argument) {
    struct thread_start *start = calloc(1, sizeof *start);
    if (start == NULL) return -ENOMEM;
    start->body = body;
    start->argument = argument;
    strncpy(start->name, name, sizeof start->name - 1);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    // Signals are for the thread with the signalfd: a new thread inherits the mask of its creator.
    sigset_t all, before;
    sigfillset(&all);
    // Keep signals of faults in the thread itself: blocked, they would kill without a backtrace.
    const int faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT, SIGPROF};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) sigdelset(&all, faults[i]);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_t thread;
    int failed = pthread_create(&thread, &attributes, thread_main, start);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (failed) {
        free(start);
        return -failed;
    }
    return 0;
}

unsigned csys_thread_number(void) {
    static _Atomic unsigned last;
    static _Thread_local unsigned number;
    if (number == 0) number = atomic_fetch_add_explicit(&last, 1, memory_order_relaxed) + 1;
    return number;
}

struct thread_probe {
    pthread_mutex_t gate;
    pid_t ids[256];
};

struct thread_probe_slot {
    struct thread_probe *probe;
    int index;
};

static void *thread_probe_main(void *argument) {
    struct thread_probe_slot *slot = argument;
    slot->probe->ids[slot->index] = (pid_t)syscall(SYS_gettid);
    // All threads exist at the same time: the gate opens once the last one was started.
    pthread_mutex_lock(&slot->probe->gate);
    pthread_mutex_unlock(&slot->probe->gate);
    return NULL;
}

bool csys_can_start_threads(int count) {
    enum { most = sizeof((struct thread_probe *)0)->ids / sizeof(pid_t) };
    if (count > most) count = most;
    struct thread_probe probe = {.gate = PTHREAD_MUTEX_INITIALIZER};
    struct thread_probe_slot slots[most];
    pthread_t threads[most];
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 << 10);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_mutex_lock(&probe.gate);
    int started = 0, failed = 0;
    while (started < count) {
        slots[started] = (struct thread_probe_slot){.probe = &probe, .index = started};
        failed = pthread_create(&threads[started], &attributes, thread_probe_main, &slots[started]);
        if (failed) break;
        started++;
    }
    pthread_mutex_unlock(&probe.gate);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    for (int i = 0; i < started; i++) pthread_join(threads[i], NULL);
    // pthread_join returns slightly before the kernel stops counting a thread.
    for (int i = 0; i < started; i++) {
        for (int look = 0; look < 1000 && syscall(SYS_tgkill, getpid(), probe.ids[i], 0) == 0; look++) usleep(100);
    }
    pthread_mutex_destroy(&probe.gate);
    // Other errors say nothing about the limit.
    return failed != EAGAIN;
}

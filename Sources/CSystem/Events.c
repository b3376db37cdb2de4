#define _GNU_SOURCE 1
#include "CSystem.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

_Static_assert(1u << 31 == (unsigned)EPOLLET, "CSYS_EPOLL_EDGE");
_Static_assert(1u << 28 == (unsigned)EPOLLEXCLUSIVE, "CSYS_EPOLL_EXCLUSIVE");

int csys_epoll_wait(int epoll, struct csys_event *events, int capacity, int milliseconds) {
    struct epoll_event found[512];
    if (capacity > 512) capacity = 512;
    int count = epoll_wait(epoll, found, capacity, milliseconds);
    if (count < 0) return errno == EINTR ? 0 : -errno;
    for (int i = 0; i < count; i++) {
        events[i].data = found[i].data.u64;
        events[i].events = found[i].events;
    }
    return count;
}

static sigset_t signal_set(const int *signals, int count) {
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < count; i++) sigaddset(&set, signals[i]);
    return set;
}

int csys_signals_block(const int *signals, int count) {
    sigset_t set = signal_set(signals, count);
    return -pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void ignore(int number) {
    struct sigaction now;
    if (sigaction(number, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL)
        signal(number, SIG_IGN);
}

void csys_signals_ignore(void) {
    const int ending[] = {SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGSTKFLT, SIGXFSZ};
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++) ignore(ending[i]);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++) ignore(number);
}

int csys_signals_unblock(const int *signals, int count) {
    sigset_t set = signal_set(signals, count);
    return -pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

int csys_signalfd(const int *signals, int count, bool nonblocking) {
    sigset_t set = signal_set(signals, count);
    int fd = signalfd(-1, &set, SFD_CLOEXEC | (nonblocking ? SFD_NONBLOCK : 0));
    return fd < 0 ? -errno : fd;
}

int csys_signalfd_read(int fd) {
    struct signalfd_siginfo info;
    long count = CSYS_REPEAT(read(fd, &info, sizeof info));
    if (count < 0) return (int)count;
    return count == sizeof info ? (int)info.ssi_signo : -EIO;
}

int csys_timerfd(void) {
    int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

int csys_timerfd_set(int fd, uint64_t when) {
    struct itimerspec setting = {
        .it_value = {.tv_sec = (time_t)(when / 1000000000u), .tv_nsec = (long)(when % 1000000000u)}};
    return timerfd_settime(fd, TFD_TIMER_ABSTIME, &setting, NULL) < 0 ? -errno : 0;
}

void csys_sharpen_timers(void) { prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); }

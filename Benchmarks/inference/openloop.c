// An open-loop load generator for HTTP/1.1: requests are sent when their time has come, whatever became of those before.
// Latency counts from the time at which a request was due, so that a stalled server (or generator) cannot hide it.
//
//   openloop HOST PORT PATH BODY_FILE RATE SECONDS [CONNECTIONS [WANTED_MS [PATIENCE_MS [WARM_UP [FIELDS]]]]]
//
// WANTED_MS: an answer that comes later is late, and no goodput. PATIENCE_MS: a client without an answer by then closes its
// connection and is gone. 0 is no limit. WARM_UP: seconds of the same load before those that are measured.
//
// One thread, one epoll, at most CONNECTIONS (1000) connections: an arrival that finds none idle opens a new one, and one
// past the limit is counted as not sent. Prints one line of JSON. Goodput counts answers that came within SECONDS, so that
// what a queue gives back afterwards does not flatter the server.

#define _GNU_SOURCE 1
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { RESPONSE = 64 << 10, LATENCIES = 1 << 20 };

struct connection {
    int fd;
    int busy;          // a request is under way
    size_t sent;       // of the request
    size_t have;       // of the response
    size_t place;      // in `live`
    uint64_t due, begun;
    char response[RESPONSE];
};

struct series {
    uint32_t *micros;  // from its due time
    size_t count;
};

static char *request;
static size_t request_size;
static struct sockaddr_in address;
static int epoll_fd;
static struct connection **idle;
static size_t idle_count, open_count, open_limit = 1000;
static struct series good, refused;
static uint64_t other, broken, not_sent, retry_sum, retry_count, retry_most, retry_least = UINT64_MAX;
static uint64_t late_most;
static uint64_t window_start, window_end, good_in_time, late, gone, offered;
static uint64_t wanted = UINT64_MAX, patience;
static struct connection **live;  // open_count of them

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void die(const char *what) {
    perror(what);
    exit(2);
}

static void add(struct series *series, uint64_t nanoseconds) {
    if (series->count < LATENCIES) series->micros[series->count++] = (uint32_t)(nanoseconds / 1000);
}

static void drop(struct connection *c) {
    close(c->fd);
    live[c->place] = live[--open_count];
    live[c->place]->place = c->place;
    free(c);
}

static struct connection *dial(void) {
    if (open_count >= open_limit) return NULL;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) return NULL;
    int one = 1;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0 && errno != EINPROGRESS) {
        close(fd);
        return NULL;
    }
    struct connection *c = calloc(1, sizeof *c);
    if (c == NULL) die("calloc");
    c->fd = fd;
    struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET | EPOLLRDHUP, .data.ptr = c};
    if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0) die("epoll_ctl");
    c->place = open_count;
    live[open_count++] = c;
    return c;
}

static void push(struct connection *c) {
    while (c->busy && c->sent < request_size) {
        ssize_t count = send(c->fd, request + c->sent, request_size - c->sent, MSG_NOSIGNAL);
        if (count < 0) return;  // EAGAIN: later; an error: reading tells
        c->sent += (size_t)count;
    }
}

// True if the connection still exists.
static int finish(struct connection *c, uint64_t time) {
    int status = atoi(c->response + 9);
    int measured = c->due >= window_start;
    if (status == 200) {
        if (measured) add(&good, time - c->due);
        if (time - c->due > wanted)
            late += (uint64_t)measured;
        else if (time >= window_start && time <= window_end)
            good_in_time++;
    } else if (status == 503 || status == 429) {
        if (measured) add(&refused, time - c->due);
        char *field = strcasestr(c->response, "\r\nretry-after:");
        if (field != NULL) {
            uint64_t seconds = strtoull(field + 14, NULL, 10);
            retry_sum += seconds;
            retry_count++;
            if (seconds > retry_most) retry_most = seconds;
            if (seconds < retry_least) retry_least = seconds;
        }
    } else {
        other++;
    }
    c->busy = 0;
    c->have = 0;
    if (c->sent < request_size || strcasestr(c->response, "\r\nconnection: close") != NULL) {
        drop(c);
        return 0;
    }
    idle[idle_count++] = c;
    return 1;
}

static void pull(struct connection *c) {
    for (;;) {
        ssize_t count = recv(c->fd, c->response + c->have, RESPONSE - 1 - c->have, 0);
        if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (count <= 0) {
            if (c->busy) {
                broken++;
            } else {
                for (size_t i = 0; i < idle_count; i++)
                    if (idle[i] == c) idle[i] = idle[--idle_count];
            }
            drop(c);
            return;
        }
        c->have += (size_t)count;
        c->response[c->have] = 0;
        char *end = strstr(c->response, "\r\n\r\n");
        if (end == NULL || !c->busy) continue;
        char *length = strcasestr(c->response, "\r\ncontent-length:");
        if (length == NULL) die("an answer without a length");
        if (c->have < (size_t)(end + 4 - c->response) + strtoull(length + 17, NULL, 10)) continue;
        if (!finish(c, now())) return;
    }
}

// Clients whose patience has ended close their connections.
static void leave(uint64_t time) {
    for (size_t i = open_count; i-- > 0;) {
        struct connection *c = live[i];
        if (!c->busy || c->due + patience > time) continue;
        if (c->due >= window_start) gone++;
        drop(c);
    }
}

static void begin(uint64_t due) {
    struct connection *c = idle_count > 0 ? idle[--idle_count] : dial();
    if (due >= window_start) offered++;
    if (c == NULL) {
        not_sent++;
        return;
    }
    c->busy = 1;
    c->sent = 0;
    c->have = 0;
    c->due = due;
    push(c);
}

static int order(const void *a, const void *b) {
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static double at(struct series *series, double part) {
    if (series->count == 0) return 0;
    size_t index = (size_t)(part * (double)series->count);
    if (index >= series->count) index = series->count - 1;
    return series->micros[index] / 1000.0;
}

int main(int argc, char **argv) {
    if (argc < 7) {
        fprintf(stderr, "usage: openloop HOST PORT PATH BODY_FILE RATE SECONDS [CONNECTIONS [WANTED_MS [PATIENCE_MS [WARM_UP [FIELDS]]]]]\n");
        return 2;
    }
    double rate = atof(argv[5]), seconds = atof(argv[6]);
    double warm_up = argc > 10 ? atof(argv[10]) : 0;
    if (argc > 7) open_limit = strtoull(argv[7], NULL, 10);
    if (argc > 8 && atof(argv[8]) > 0) wanted = (uint64_t)(atof(argv[8]) * 1e6);
    if (argc > 9) patience = (uint64_t)(atof(argv[9]) * 1e6);
    FILE *file = fopen(argv[4], "rb");
    if (file == NULL) die(argv[4]);
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    const char *fields = argc > 11 ? argv[11] : "Content-Type: image/jpeg";
    request = malloc((size_t)size + strlen(argv[3]) + strlen(fields) + 1024);
    request_size = (size_t)sprintf(
        request, "POST %s HTTP/1.1\r\nHost: %s\r\n%s\r\nContent-Length: %ld\r\n\r\n", argv[3], argv[1], fields, size);
    request_size += fread(request + request_size, 1, (size_t)size, file);
    address.sin_family = AF_INET;
    address.sin_port = htons((uint16_t)atoi(argv[2]));
    if (inet_pton(AF_INET, argv[1], &address.sin_addr) != 1) die("address");
    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    idle = calloc(open_limit + 1, sizeof *idle);
    live = calloc(open_limit + 1, sizeof *live);
    good.micros = malloc(LATENCIES * sizeof(uint32_t));
    refused.micros = malloc(LATENCIES * sizeof(uint32_t));
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, timer, &event);

    uint64_t start = now(), total = (uint64_t)(rate * (warm_up + seconds)), next = 0, looked = 0;
    double gap = 1e9 / rate;
    window_start = start + (uint64_t)(warm_up * 1e9);
    window_end = window_start + (uint64_t)(seconds * 1e9);
    uint64_t last = window_end + 40000000000u;
    for (;;) {
        uint64_t time = now();
        while (next < total && start + (uint64_t)((double)next * gap) <= time) {
            uint64_t due = start + (uint64_t)((double)next * gap);
            if (time - due > late_most) late_most = time - due;
            begin(due);
            next++;
        }
        if (next >= total && open_count == idle_count) break;
        if (patience > 0 && time > looked + 20000000u) {
            leave(time);
            looked = time;
        }
        if (time > last) break;  // what has not been answered by then is not going to be
        uint64_t due = next < total ? start + (uint64_t)((double)next * gap) : time + 20000000u;
        if (due <= time) due = time + 1000;
        struct itimerspec when = {.it_value = {.tv_sec = (time_t)(due / 1000000000u), .tv_nsec = (long)(due % 1000000000u)}};
        timerfd_settime(timer, TFD_TIMER_ABSTIME, &when, NULL);
        struct epoll_event events[256];
        int count = epoll_wait(epoll_fd, events, 256, 1000);
        for (int i = 0; i < count; i++) {
            struct connection *c = events[i].data.ptr;
            if (c == NULL) {
                uint64_t expirations;
                (void)!read(timer, &expirations, sizeof expirations);
                continue;
            }
            if (events[i].events & EPOLLOUT) push(c);
            if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR | EPOLLRDHUP)) pull(c);
        }
    }
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    double cpu = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) + (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
    qsort(good.micros, good.count, sizeof(uint32_t), order);
    qsort(refused.micros, refused.count, sizeof(uint32_t), order);
    printf(
        "{\"rate\": %.1f, \"seconds\": %.1f, \"offered\": %llu, \"good\": %zu, \"goodput\": %.1f, \"good_p50_ms\": %.2f, "
        "\"good_p99_ms\": %.2f, \"good_max_ms\": %.2f, \"refused\": %zu, \"refused_p50_ms\": %.2f, \"refused_p99_ms\": %.2f, "
        "\"refused_max_ms\": %.2f, \"other\": %llu, \"broken\": %llu, \"not_sent\": %llu, \"retry_after_least\": %llu, "
        "\"retry_after_mean\": %.2f, \"retry_after_most\": %llu, \"late\": %llu, \"gone\": %llu, \"generator_late_max_ms\": %.2f, \"generator_cpu\": %.3f}\n",
        rate, seconds, (unsigned long long)offered, good.count, (double)good_in_time / seconds, at(&good, 0.5), at(&good, 0.99),
        at(&good, 1), refused.count, at(&refused, 0.5), at(&refused, 0.99), at(&refused, 1), (unsigned long long)other,
        (unsigned long long)broken, (unsigned long long)not_sent,
        (unsigned long long)(retry_count ? retry_least : 0), retry_count ? (double)retry_sum / (double)retry_count : 0,
        (unsigned long long)retry_most, (unsigned long long)late, (unsigned long long)gone, (double)late_most / 1e6, cpu);
    return 0;
}

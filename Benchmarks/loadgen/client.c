// A client of keep-alive connections for LoadGen: what is asked for comes from standard input, one "ID INDEX" a line; when the answer to the
// INDEXth picture is there, "ID STATUS" goes to standard output. One thread, so that little of the processors that are measured goes to it.
//
// Usage: client PORT CONNECTIONS PICTURE...     until standard input ends and all answers are there
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

struct request {
    char *bytes;
    size_t length;
};
struct sample {
    unsigned long long id;
    int index;
};
struct connection {
    int socket, is_busy, waits_to_write;
    struct sample sample;
    size_t sent, received;
    char answer[1 << 16];
};
static struct request *requests;
static int request_count, poll_set, port;
static struct sample *waiting;
static size_t first_waiting, last_waiting, room;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void load(struct request *request, const char *path) {
    FILE *file = fopen(path, "rb");
    struct stat facts;
    if (!file || fstat(fileno(file), &facts)) fail(path);
    request->bytes = malloc(facts.st_size + 512);
    int head = sprintf(request->bytes, "POST /v1/classify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/octet-stream\r\n"
                       "Cache-Control: no-store\r\nContent-Length: %lld\r\n\r\n", (long long)facts.st_size);
    if (fread(request->bytes + head, 1, facts.st_size, file) != (size_t)facts.st_size) fail(path);
    request->length = head + facts.st_size;
    fclose(file);
}

static void watch(struct connection *connection, int writes) {
    if (connection->waits_to_write == writes) return;
    connection->waits_to_write = writes;
    struct epoll_event event = {.events = EPOLLIN | (writes ? EPOLLOUT : 0), .data.ptr = connection};
    if (epoll_ctl(poll_set, EPOLL_CTL_MOD, connection->socket, &event)) fail("epoll_ctl");
}

static void send_more(struct connection *connection) {
    struct request *request = &requests[connection->sample.index];
    while (connection->sent < request->length) {
        ssize_t count = send(connection->socket, request->bytes + connection->sent, request->length - connection->sent, MSG_NOSIGNAL);
        if (count < 0 && errno == EAGAIN) break;
        if (count < 0) fail("send");
        connection->sent += count;
    }
    watch(connection, connection->sent < request->length);
}

static void open_socket(struct connection *connection) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    connection->socket = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(connection->socket, (struct sockaddr *)&address, sizeof address)) fail("connect");
    int one = 1;
    setsockopt(connection->socket, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    fcntl(connection->socket, F_SETFL, O_NONBLOCK);
    connection->waits_to_write = 0;
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = connection};
    if (epoll_ctl(poll_set, EPOLL_CTL_ADD, connection->socket, &event)) fail("epoll_ctl");
}

static void begin(struct connection *connection) {
    if (connection->socket < 0) open_socket(connection);
    connection->sample = waiting[first_waiting++ % room];
    connection->is_busy = 1;
    connection->sent = connection->received = 0;
    send_more(connection);
}

// True when the answer is complete.
static int receive(struct connection *connection) {
    ssize_t count = recv(connection->socket, connection->answer + connection->received, sizeof connection->answer - 1 - connection->received, 0);
    if (count < 0 && errno == EAGAIN) return 0;
    if (count <= 0 && !connection->is_busy) {
        // The daemon closes connections that were idle for long.
        close(connection->socket);
        connection->socket = -1;
        return 0;
    }
    if (count <= 0) {
        fprintf(stderr, "the daemon closed a connection, or its answer is too long\n");
        exit(1);
    }
    connection->received += count;
    connection->answer[connection->received] = 0;
    char *end = strstr(connection->answer, "\r\n\r\n"), *length = strcasestr(connection->answer, "\r\ncontent-length:");
    return end && length && connection->received >= (size_t)(end + 4 - connection->answer) + strtoul(length + 17, NULL, 10);
}

// Takes whole lines from standard input. False at its end.
static int read_samples(void) {
    static char text[1 << 16];
    static size_t kept;
    ssize_t count = read(0, text + kept, sizeof text - kept);
    if (count < 0 && errno == EAGAIN) return 1;
    if (count <= 0) return 0;
    size_t length = kept + count, start = 0;
    for (char *end; (end = memchr(text + start, '\n', length - start)); start = end + 1 - text) {
        *end = 0;
        struct sample sample;
        if (sscanf(text + start, "%llu %d", &sample.id, &sample.index) != 2 || sample.index < 0 || sample.index >= request_count) {
            fprintf(stderr, "no \"ID INDEX\": %s\n", text + start);
            exit(1);
        }
        if (last_waiting - first_waiting == room) {
            struct sample *more = malloc(2 * room * sizeof *more);
            for (size_t index = first_waiting; index < last_waiting; index++) more[index % (2 * room)] = waiting[index % room];
            free(waiting);
            waiting = more;
            room *= 2;
        }
        waiting[last_waiting++ % room] = sample;
    }
    kept = length - start;
    memmove(text, text + start, kept);
    return 1;
}

int main(int count, char **arguments) {
    if (count < 4) {
        fprintf(stderr, "usage: client PORT CONNECTIONS PICTURE...\n");
        return 64;
    }
    int connection_count = atoi(arguments[2]), has_more = 1, busy = 0;
    request_count = count - 3;
    requests = calloc(request_count, sizeof *requests);
    for (int index = 0; index < request_count; index++) load(&requests[index], arguments[index + 3]);
    room = 1024;
    waiting = malloc(room * sizeof *waiting);
    poll_set = epoll_create1(0);
    struct epoll_event input = {.events = EPOLLIN, .data.ptr = NULL};
    fcntl(0, F_SETFL, O_NONBLOCK);
    if (epoll_ctl(poll_set, EPOLL_CTL_ADD, 0, &input)) fail("epoll_ctl: standard input must be a pipe");
    port = atoi(arguments[1]);
    struct connection *connections = calloc(connection_count, sizeof *connections);
    for (int index = 0; index < connection_count; index++) open_socket(&connections[index]);
    while (has_more || busy || first_waiting < last_waiting) {
        struct epoll_event events[64];
        int happened = epoll_wait(poll_set, events, 64, -1);
        for (int index = 0; index < happened; index++) {
            struct connection *connection = events[index].data.ptr;
            if (!connection) {
                if (!(has_more = read_samples())) epoll_ctl(poll_set, EPOLL_CTL_DEL, 0, NULL);
                continue;
            }
            if (events[index].events & EPOLLOUT) send_more(connection);
            if (events[index].events & (EPOLLIN | EPOLLHUP | EPOLLERR) && receive(connection)) {
                printf("%llu %.3s\n", connection->sample.id, connection->answer + 9);
                connection->is_busy = 0;
                busy--;
            }
        }
        for (int index = 0; index < connection_count && first_waiting < last_waiting; index++)
            if (!connections[index].is_busy) {
                begin(&connections[index]);
                busy++;
            }
        fflush(stdout);
    }
}

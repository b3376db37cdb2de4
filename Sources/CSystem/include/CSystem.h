#pragma once
// What Swift's Glibc module misses, or cannot call safely: epoll, eventfd, signalfd, accept4, sendmsg.
//
// Every function returns its result, or the negated errno. Swift cannot read `errno` reliably after a call (the
// runtime may allocate or take a lock in between), so the number is taken here, in the same expression.
// Calls that a signal can interrupt are repeated, except the waits, whose callers look at the clock again anyway.

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define CSYS_REPEAT(expression)                                                                                        \
    ({                                                                                                                 \
        long csys_result;                                                                                              \
        do {                                                                                                           \
            csys_result = (long)(expression);                                                                          \
        } while (csys_result < 0 && errno == EINTR);                                                                   \
        csys_result < 0 ? -(long)errno : csys_result;                                                                  \
    })

// MARK: epoll

static const uint32_t CSYS_EPOLL_IN = EPOLLIN;
static const uint32_t CSYS_EPOLL_OUT = EPOLLOUT;
static const uint32_t CSYS_EPOLL_ERR = EPOLLERR;
static const uint32_t CSYS_EPOLL_HUP = EPOLLHUP;
static const uint32_t CSYS_EPOLL_RDHUP = EPOLLRDHUP;
static const uint32_t CSYS_EPOLL_EDGE = 1u << 31;       // EPOLLET
static const uint32_t CSYS_EPOLL_EXCLUSIVE = 1u << 28;  // EPOLLEXCLUSIVE

/// One event as Swift sees it: the kernel's struct is packed on x86-64 and not elsewhere, so it is copied here.
struct csys_event {
    uint64_t data;
    uint32_t events;
};

static inline int csys_epoll_create(void) {
    int fd = epoll_create1(EPOLL_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

static inline int csys_epoll_add(int epoll, int fd, uint32_t events, uint64_t data) {
    struct epoll_event event = {.events = events, .data = {.u64 = data}};
    return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

static inline int csys_epoll_modify(int epoll, int fd, uint32_t events, uint64_t data) {
    struct epoll_event event = {.events = events, .data = {.u64 = data}};
    return epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) < 0 ? -errno : 0;
}

static inline int csys_epoll_remove(int epoll, int fd) {
    struct epoll_event event = {0};
    return epoll_ctl(epoll, EPOLL_CTL_DEL, fd, &event) < 0 ? -errno : 0;
}

/// Waits at most `milliseconds` (-1: for ever) for at most `capacity` (no more than 512) events.
int csys_epoll_wait(int epoll, struct csys_event *events, int capacity, int milliseconds);

// MARK: eventfd, signalfd

static inline int csys_eventfd(void) {
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return fd < 0 ? -errno : fd;
}

static inline int csys_eventfd_signal(int fd) {
    uint64_t one = 1;
    return (int)CSYS_REPEAT(write(fd, &one, sizeof one));
}

static inline int csys_eventfd_clear(int fd) {
    uint64_t count;
    return (int)CSYS_REPEAT(read(fd, &count, sizeof count));
}

/// Blocks the signals for this thread and those it starts later, so that only a signalfd receives them.
int csys_signals_block(const int *signals, int count);
/// Ignores every signal that would end the process, is neither a fault of the program's nor a request to end, and has no handler: a
/// profiler's stays.
void csys_signals_ignore(void);
/// Unblocks the signals for this thread.
int csys_signals_unblock(const int *signals, int count);
/// A close-on-exec descriptor that reads the signals (which must be blocked); non-blocking if asked.
int csys_signalfd(const int *signals, int count, bool nonblocking);
/// The number of the next signal, -EAGAIN when there is none on a non-blocking descriptor.
int csys_signalfd_read(int fd);

// MARK: sockets

/// Room for any socket address and how long the one in it is.
struct csys_address {
    struct sockaddr_storage storage;
    socklen_t length;
};

/// A stream socket, close-on-exec and non-blocking.
static inline int csys_socket(int family) {
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return fd < 0 ? -errno : fd;
}

/// The next connection, close-on-exec and non-blocking. Not repeated: the caller decides what each error means.
int csys_accept(int fd, struct csys_address *address);

static inline long csys_receive(int fd, void *bytes, size_t count) {
    return CSYS_REPEAT(recv(fd, bytes, count, 0));
}

/// Copies up to `count` received bytes without taking them.
static inline long csys_peek(int fd, void *bytes, size_t count) {
    return CSYS_REPEAT(recv(fd, bytes, count, MSG_PEEK));
}

/// Throws away up to `count` received bytes; TCP does so without copying them.
long csys_discard(int fd, size_t count);

static inline long csys_send(int fd, const void *bytes, size_t count) {
    return CSYS_REPEAT(send(fd, bytes, count, MSG_NOSIGNAL));
}

/// Sends two pieces with one call.
static inline long csys_send2(int fd, const void *first, size_t first_count, const void *second, size_t second_count) {
    struct iovec pieces[2] = {
        {.iov_base = (void *)first, .iov_len = first_count},
        {.iov_base = (void *)second, .iov_len = second_count},
    };
    struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
    return CSYS_REPEAT(sendmsg(fd, &message, MSG_NOSIGNAL));
}

static inline long csys_write(int fd, const void *bytes, size_t count) {
    return CSYS_REPEAT(write(fd, bytes, count));
}

static inline int csys_shutdown_write(int fd) { return shutdown(fd, SHUT_WR) < 0 ? -errno : 0; }

/// close(2). Never repeated: on Linux the descriptor is gone even when it says EINTR.
static inline int csys_close(int fd) { return close(fd) < 0 ? -errno : 0; }

/// True if a listening socket shares its address (SO_REUSEPORT) with others of this process: the first of them is not bound
/// where any other socket listens, shared or not.
enum csys_sharing { CSYS_SHARING_NONE, CSYS_SHARING_FIRST, CSYS_SHARING_NEXT };

/// Resolves and binds `host` (nil or empty: every address, IPv6 with IPv4 where the host has it) and listens.
/// Numeric hosts never ask a resolver. Returns the descriptor.
int csys_listen_tcp(const char *host, uint16_t port, int backlog, enum csys_sharing sharing);
/// Binds and listens on a Unix-domain socket whose file has `mode` from its first moment on (never a wider one).
int csys_listen_unix(const char *path, uint32_t mode, int backlog);
/// 0 when a process accepts connections on that path, else the negated errno: -ECONNREFUSED for a left-over file.
int csys_unix_probe(const char *path);
/// 1 for a listening stream socket, 0 for another socket, or the negated errno.
int csys_is_listening(int fd);
int csys_set_nonblocking_cloexec(int fd);
/// Makes a listening TCP socket deaf to new connections, while handshakes that have begun still come to their end and what
/// has been established can still be accepted: the step before closing it without resetting anybody. Another socket is
/// left as it is.
int csys_stop_handshakes(int fd);
/// Options of accepted TCP sockets that Linux inherits from the listening one: TCP_NODELAY, SO_KEEPALIVE.
int csys_set_stream_options(int fd);
/// Size of the kernel's send buffer, in bytes.
int csys_set_send_buffer(int fd, int bytes);
/// Bytes that the kernel takes of a TCP socket before they can be sent (TCP_NOTSENT_LOWAT): those that the client has no room
/// for. Inherited by accepted sockets.
int csys_set_unsent(int fd, int bytes);
/// After this time without progress of what was sent, or waits for room at the client, TCP gives the connection up (TCP_USER_TIMEOUT).
/// Inherited by accepted sockets.
int csys_set_user_timeout(int fd, unsigned milliseconds);
/// Bytes that the kernel has taken of a socket and the other side has not: unsent, or not acknowledged (SIOCOUTQ).
int csys_queued(int fd);
/// Bytes that have arrived and were not read yet; 0 if the kernel does not say.
int csys_unread(int fd);
int csys_local_address(int fd, struct csys_address *address);
/// AF_INET, AF_INET6, AF_UNIX.
static inline int csys_address_family(const struct csys_address *address) { return address->storage.ss_family; }
/// True for an address of this host only: 127.0.0.0/8, also mapped into IPv6, or ::1.
bool csys_address_is_loopback(const struct csys_address *address);
/// Writes "127.0.0.1:80", "[::1]:80" or "unix" and returns its length (no NUL counted).
int csys_address_format(const struct csys_address *address, char *text, int capacity);

/// Resolves `host` and fills in the first of its addresses that accepts a connection within `milliseconds`
/// (one is opened and closed to find out). Blocks. Returns 0 or the negated errno; -ENOENT for an unknown name.
int csys_find_server(const char *host, uint16_t port, int milliseconds, struct csys_address *address);
/// The same for the path of a Unix-domain socket.
int csys_find_unix_server(const char *path, struct csys_address *address);
/// A stream socket that is about to be connected (non-blocking, TCP_NODELAY where it is TCP), or the negated errno.
/// Writable when the connection is there; `csys_socket_error` says whether.
int csys_connect(const struct csys_address *address);
/// The error that waits on a socket (SO_ERROR), negated; 0 when there is none.
int csys_socket_error(int fd);

/// Makes close(2) answer with RST at once: for shedding, where nothing is worth a TIME_WAIT.
int csys_set_abortive_close(int fd);

// MARK: files and memory

/// Opens /dev/null: a descriptor held in reserve.
int csys_open_reserve(void);
/// Device and inode of a path, to know one's own socket file again. `is_socket` tells what it is.
int csys_file_identity(const char *path, uint64_t *device, uint64_t *inode, bool *is_socket);
/// Gives a file to `owner`: `user`, `user:group` or `:group`, by name or number. -ENOENT for an unknown name (numbers
/// too large for one are names), -EINVAL for one of 64 bytes or more.
int csys_chown(const char *path, const char *owner);
/// Anonymous memory, zero pages until written, each of the usual size; NULL when the kernel refuses.
void *csys_map(size_t bytes);
/// Grows or shrinks such memory by moving its page tables, not its bytes; NULL when the kernel refuses.
void *csys_remap(void *base, size_t from, size_t to);
void csys_unmap(void *base, size_t bytes);

// MARK: time, randomness, threads

/// A timer for epoll, by CLOCK_MONOTONIC: exact to some microseconds, where epoll's own timeout counts milliseconds.
int csys_timerfd(void);
/// Sets off at this time (0: never), once.
int csys_timerfd_set(int fd, uint64_t when);
/// Lets the calling thread's timers go off when they are due, not up to 50 µs later to save power.
void csys_sharpen_timers(void);

/// Nanoseconds of processor time that the calling thread, and all threads of the process, have used.
static inline uint64_t csys_thread_cpu(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}
static inline uint64_t csys_process_cpu(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/// CLOCK_MONOTONIC in nanoseconds.
static inline uint64_t csys_monotonic(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/// Seconds since 1970, as of the last timer tick: good enough for a Date field, and cheaper.
static inline int64_t csys_wall_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME_COARSE, &time);
    return time.tv_sec;
}

/// Gives unused memory that malloc holds back to the kernel. Walks all arenas: some milliseconds.
void csys_release_free_memory(void);

/// True if there are instructions that multiply bytes and add the products to 32 bits (AVX-512 VNNI, AVX-VNNI).
int csys_has_vnni(void);

/// The processor's extensions that numeric code is chosen by, a bit for each: equal numbers mean the same code.
uint64_t csys_instructions(void);

/// Eight bytes from the kernel's generator.
uint64_t csys_random(void);

/// Starts a detached thread with the given name (15 characters at most count). Signals from
/// outside are blocked in it.
int csys_thread_start(const char *name, void (*body)(void *), void *argument);

/// The number of the calling thread: 1 and more, and no other thread's, not even of one that has ended.
unsigned csys_thread_number(void);

/// True if `count` more threads (256 at most) can be started. Starts them, and returns when they have ended.
bool csys_can_start_threads(int count);

// MARK: child processes

/// Starts a program without the signals, the terminal and the process group of this one. Its standard output and error
/// are one pipe, whose reading end (close-on-exec) is put into `output`. Returns the process's id.
int csys_spawn(const char *path, char *const arguments[], char *const environment[], int *output);
/// Starts a program in the same way, but with the other end of a socket of messages (csys_socket_pair) as its descriptor 3 and
/// nothing to read or print to. This end is put into `socket`.
int csys_spawn_helper(const char *path, char *const arguments[], char *const environment[], int *socket);
/// Waits at most `milliseconds` for something to read: 1, 0 for none yet, or the negated errno.
int csys_wait_readable(int fd, int milliseconds);
static inline long csys_read(int fd, void *bytes, size_t count) { return CSYS_REPEAT(read(fd, bytes, count)); }
/// Waits for a child's end; what wait(2) tells of it is put into `signal` (0 for none) and `exit_status`.
int csys_wait_child(int pid, int *signal, int *exit_status);
/// Ends (SIGKILL) a process that csys_spawn started, and what it has started in its process group.
int csys_kill_group(int pid);
/// For a child that does something dangerous: it ends when its parent does, and after `seconds` (by SIGALRM), leaves no
/// core, is the first that the kernel ends when memory runs out, and may have this much private memory (0: any). Returns the
/// negated errno of what failed.
int csys_confine(int parent, unsigned seconds, uint64_t memory);

// MARK: memory and messages shared with child processes

/// Two connected sockets that keep messages apart (SOCK_SEQPACKET), close-on-exec.
int csys_socket_pair(int ends[2]);
/// Anonymous memory of a fixed size, as a descriptor: sealed against growing and shrinking. Or the negated errno.
int csys_memory_file(size_t bytes);
/// A copy of some bytes as such a descriptor, sealed against writing too.
int csys_memory_copy(const void *contents, size_t bytes);
/// Maps such memory to be read; NULL when the kernel refuses. To be given back by csys_unmap.
void *csys_map_file(int fd, size_t bytes);
/// Sends one message with descriptors (4 at most). Returns 0 or the negated errno.
int csys_send_descriptors(int fd, const void *bytes, size_t count, const int *descriptors, int descriptor_count);

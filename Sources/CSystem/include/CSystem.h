#pragma once
// System calls that Swift's Glibc module lacks, or that Swift cannot call safely: epoll, eventfd, signalfd, accept4, sendmsg.
//
// Every function returns its result, or the negated errno. Swift cannot read `errno` reliably after a call (the runtime may
// allocate or take a lock in between), so it is read here, in the same expression. Calls interrupted by a signal are repeated,
// except waits, whose callers check the clock anyway.

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

/// An event. The kernel's struct is packed on x86-64 but not elsewhere, so it is copied to this one.
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

/// Waits at most `milliseconds` (-1: forever) for at most `capacity` events (up to 512).
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

/// Blocks the signals for this thread and for threads that it starts later, so that only a signalfd receives them.
int csys_signals_block(const int *signals, int count);
/// Ignores every signal that would end the process, except faults of the program, requests to end, and signals with a handler, such
/// as a profiler's.
void csys_signals_ignore(void);
/// Unblocks the signals for this thread.
int csys_signals_unblock(const int *signals, int count);
/// Returns a close-on-exec descriptor for reading the signals, which must be blocked; optionally non-blocking.
int csys_signalfd(const int *signals, int count, bool nonblocking);
/// The number of the next signal; -EAGAIN if a non-blocking descriptor has no signal.
int csys_signalfd_read(int fd);

// MARK: sockets

/// A socket address of any family, with its length.
struct csys_address {
    struct sockaddr_storage storage;
    socklen_t length;
};

/// Creates a stream socket, close-on-exec and non-blocking.
static inline int csys_socket(int family) {
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return fd < 0 ? -errno : fd;
}

/// Accepts a connection, close-on-exec and non-blocking. Not repeated: the caller handles each error.
int csys_accept(int fd, struct csys_address *address);

static inline long csys_receive(int fd, void *bytes, size_t count) {
    return CSYS_REPEAT(recv(fd, bytes, count, 0));
}

/// Copies up to `count` received bytes without removing them.
static inline long csys_peek(int fd, void *bytes, size_t count) {
    return CSYS_REPEAT(recv(fd, bytes, count, MSG_PEEK));
}

/// Discards up to `count` received bytes; without copying for TCP.
long csys_discard(int fd, size_t count);

static inline long csys_send(int fd, const void *bytes, size_t count) {
    return CSYS_REPEAT(send(fd, bytes, count, MSG_NOSIGNAL));
}

/// Sends two buffers with one call.
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

/// close(2). Never repeated: on Linux the descriptor is closed even after EINTR.
static inline int csys_close(int fd) { return close(fd) < 0 ? -errno : 0; }

/// The way in which a listening socket shares its address (SO_REUSEPORT) with others of this process. The first one fails to bind if any other
/// socket, shared or not, listens there.
enum csys_sharing { CSYS_SHARING_NONE, CSYS_SHARING_FIRST, CSYS_SHARING_NEXT };

/// Resolves and binds `host` (nil or empty: all addresses, IPv6 with IPv4 if the host has it) and listens. Numeric hosts need no
/// resolver. Returns the descriptor.
int csys_listen_tcp(const char *host, uint16_t port, int backlog, enum csys_sharing sharing);
/// Binds and listens on a Unix-domain socket. Its file has `mode` from the start (never a wider one).
int csys_listen_unix(const char *path, uint32_t mode, int backlog);
/// 0 if a process accepts connections on that path, else the negated errno: -ECONNREFUSED for a stale file.
int csys_unix_probe(const char *path);
/// 1 for a listening stream socket, 0 for other sockets, or the negated errno.
int csys_is_listening(int fd);
int csys_set_nonblocking_cloexec(int fd);
/// Makes a listening TCP socket ignore new connections, while handshakes in progress complete and established connections can still
/// be accepted: the step before closing it without resetting connections. No effect on other sockets.
int csys_stop_handshakes(int fd);
/// Sets options of accepted TCP sockets that Linux inherits from the listening one: TCP_NODELAY, SO_KEEPALIVE.
int csys_set_stream_options(int fd);
/// Sets the size of the kernel's send buffer in bytes.
int csys_set_send_buffer(int fd, int bytes);
/// Limits the bytes of a TCP socket that the kernel holds before they can be sent (TCP_NOTSENT_LOWAT), because the client has no
/// room. Inherited by accepted sockets.
int csys_set_unsent(int fd, int bytes);
/// Sets the time without progress of sent or pending data after which TCP gives up the connection (TCP_USER_TIMEOUT). Inherited by
/// accepted sockets.
int csys_set_user_timeout(int fd, unsigned milliseconds);
/// The number of bytes in the kernel's send queue, unsent or not acknowledged (SIOCOUTQ).
int csys_queued(int fd);
/// The number of received bytes not read yet; 0 if it is not known.
int csys_unread(int fd);
int csys_local_address(int fd, struct csys_address *address);
/// The address family: AF_INET, AF_INET6, AF_UNIX.
static inline int csys_address_family(const struct csys_address *address) { return address->storage.ss_family; }
/// True for an address of this host only: 127.0.0.0/8, including its IPv6-mapped form, or ::1.
bool csys_address_is_loopback(const struct csys_address *address);
/// Writes "127.0.0.1:80", "[::1]:80" or "unix"; returns the length without NUL.
int csys_address_format(const struct csys_address *address, char *text, int capacity);

/// Resolves `host` and stores the first of its addresses that accepts a connection within `milliseconds` (tested by opening and
/// closing one). Blocks. Returns 0 or the negated errno; -ENOENT for an unknown name.
int csys_find_server(const char *host, uint16_t port, int milliseconds, struct csys_address *address);
/// Stores the address of a Unix-domain socket's path. Returns 0 or the negated errno.
int csys_find_unix_server(const char *path, struct csys_address *address);
/// Creates a stream socket and starts to connect it (non-blocking; TCP_NODELAY for TCP), or returns the negated errno. The socket
/// becomes writable when connecting ends; `csys_socket_error` returns the result.
int csys_connect(const struct csys_address *address);
/// The pending error of a socket (SO_ERROR), negated; 0 if it has no error.
int csys_socket_error(int fd);

/// Makes close(2) send RST at once: for load shedding, where TIME_WAIT is not worthwhile.
int csys_set_abortive_close(int fd);

// MARK: files and memory

/// Opens /dev/null, as a descriptor held in reserve.
int csys_open_reserve(void);
/// Device and inode of a path, to recognize one's own socket file. `is_socket` receives whether it is a socket.
int csys_file_identity(const char *path, uint64_t *device, uint64_t *inode, bool *is_socket);
/// Changes the owner of a file to `user`, `user:group` or `:group`, by name or number. -ENOENT for an unknown name (numbers out of
/// range are names), -EINVAL for a name of 64 bytes or more.
int csys_chown(const char *path, const char *owner);
/// rename(2), but -EEXIST if there is something at `to`: renameat2(2) with RENAME_NOREPLACE.
int csys_rename_new(const char *from, const char *to);
/// Exchanges two files or folders at once: renameat2(2) with RENAME_EXCHANGE. -EINVAL if the file system cannot.
int csys_exchange(const char *first, const char *second);
/// Maps anonymous memory: zeroed pages of the normal size, allocated on write; NULL on failure.
void *csys_map(size_t bytes);
/// Resizes such memory by moving page tables instead of bytes; NULL on failure.
void *csys_remap(void *base, size_t from, size_t to);
void csys_unmap(void *base, size_t bytes);

/// The path of the file that contains a function of this process; NULL if it is not known.
const char *csys_file_with(const void *function);

// MARK: time, randomness, threads

/// Creates a timer for epoll on CLOCK_MONOTONIC: accurate to a few microseconds, while epoll's timeout has milliseconds.
int csys_timerfd(void);
/// Arms the timer once for a time (0: disarms it).
int csys_timerfd_set(int fd, uint64_t when);
/// Makes the calling thread's timers fire when due, instead of up to 50 µs later to save power.
void csys_sharpen_timers(void);

/// Processor time of the calling thread, and of all threads of the process, in nanoseconds.
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

/// Seconds since 1970, as of the last timer tick: accurate enough for a Date field, and cheaper.
static inline int64_t csys_wall_seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME_COARSE, &time);
    return time.tv_sec;
}

/// Returns unused memory held by malloc to the kernel. Walks all arenas, which takes some milliseconds.
void csys_release_free_memory(void);

/// Bounds the unused memory that malloc holds. Blocks of `mapped` bytes and more return to the kernel when they are freed; each
/// arena keeps at most about `kept` free bytes at its end. Both are below 2^31. Call it before other threads start.
void csys_bound_free_memory(size_t mapped, size_t kept);

/// True if the processor can multiply bytes and add the products to 32 bits (AVX-512 VNNI, AVX-VNNI).
int csys_has_vnni(void);

/// The processor's extensions that numeric code is selected by, one bit each: equal numbers select equal code.
uint64_t csys_instructions(void);

/// Eight bytes from the kernel's random number generator.
uint64_t csys_random(void);

/// Starts a detached thread with the given name (only the first 15 characters are used). Signals sent to the process are blocked in
/// it.
int csys_thread_start(const char *name, void (*body)(void *), void *argument);

/// The number of the calling thread: at least 1, and never reused, not even after the thread ended.
unsigned csys_thread_number(void);

/// True if `count` more threads (256 at most) can be started. Starts them, and returns when they have ended.
bool csys_can_start_threads(int count);

// MARK: child processes

/// Starts a program without the signal mask, terminal and process group of this process. Its standard output and error are one
/// pipe, whose read end (close-on-exec) is stored in `output`. Returns the process ID.
int csys_spawn(const char *path, char *const arguments[], char *const environment[], int *output);
/// Starts a program like csys_spawn, but with one end of a message socket (csys_socket_pair) as its descriptor 3 and no input or
/// output. The other end is stored in `socket`.
int csys_spawn_helper(const char *path, char *const arguments[], char *const environment[], int *socket);
/// Waits at most `milliseconds` for input: returns 1, 0 on timeout, or the negated errno.
int csys_wait_readable(int fd, int milliseconds);
static inline long csys_read(int fd, void *bytes, size_t count) { return CSYS_REPEAT(read(fd, bytes, count)); }
/// Waits until a child ends; stores the result of wait(2) in `signal` (0 for none) and `exit_status`.
int csys_wait_child(int pid, int *signal, int *exit_status);
/// Kills (SIGKILL) a process started by csys_spawn with its process group.
int csys_kill_group(int pid);
/// Confines a child that runs untrusted work: it ends with its parent, and after `seconds` (by SIGALRM), leaves no core dump, is
/// the first one that the kernel kills when memory runs out, and has at most this much private memory (0: unlimited). Returns the
/// negated errno of a failure.
int csys_confine(int parent, unsigned seconds, uint64_t memory);

// MARK: memory and messages shared with child processes

/// Two connected message sockets (SOCK_SEQPACKET), close-on-exec.
int csys_socket_pair(int ends[2]);
/// A descriptor of anonymous memory of a fixed size, sealed against resizing; or the negated errno.
int csys_memory_file(size_t bytes);
/// A descriptor of a copy of some bytes, sealed against resizing and writing; or the negated errno.
int csys_memory_copy(const void *contents, size_t bytes);
/// Maps such memory for reading; NULL on failure. Release it with csys_unmap.
void *csys_map_file(int fd, size_t bytes);
/// Sends one message with at most 4 descriptors. Returns 0 or the negated errno.
int csys_send_descriptors(int fd, const void *bytes, size_t count, const int *descriptors, int descriptor_count);

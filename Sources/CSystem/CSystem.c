#define _GNU_SOURCE 1
#include "CSystem.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <grp.h>
#include <malloc.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>

_Static_assert(1u << 31 == (unsigned)EPOLLET, "CSYS_EPOLL_EDGE");
_Static_assert(1u << 28 == (unsigned)EPOLLEXCLUSIVE, "CSYS_EPOLL_EXCLUSIVE");

// MARK: epoll

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

// MARK: signalfd

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

// MARK: sockets

int csys_accept(int fd, struct csys_address *address) {
    address->length = sizeof address->storage;
    int accepted = accept4(fd, (struct sockaddr *)&address->storage, &address->length, SOCK_CLOEXEC | SOCK_NONBLOCK);
    return accepted < 0 ? -errno : accepted;
}

long csys_discard(int fd, size_t count) {
    // A NULL buffer with MSG_TRUNC is TCP's own way to skip; other families need somewhere to put the bytes.
    long skipped = CSYS_REPEAT(recv(fd, NULL, count, MSG_TRUNC));
    if (skipped != -EFAULT) return skipped;
    char bytes[16384];
    return CSYS_REPEAT(recv(fd, bytes, count < sizeof bytes ? count : sizeof bytes, 0));
}

static int close_with(int fd, int error) {
    close(fd);
    return -error;
}

static int listen_at(const struct addrinfo *at, int backlog, enum csys_sharing sharing, bool dual) {
    int fd = csys_socket(at->ai_family);
    if (fd < 0) return fd;
    int one = 1, zero = 0;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (sharing == CSYS_SHARING_NEXT && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one) < 0)
        return close_with(fd, errno);
    if (at->ai_family == AF_INET6) setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, dual ? &zero : &one, sizeof one);
    if (bind(fd, at->ai_addr, at->ai_addrlen) < 0) return close_with(fd, errno);
    // Only now: had the first socket been bound with the option, it could have joined those of another process.
    if (sharing == CSYS_SHARING_FIRST && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &one, sizeof one) < 0)
        return close_with(fd, errno);
    csys_set_stream_options(fd);
    if (listen(fd, backlog) < 0) return close_with(fd, errno);
    return fd;
}

int csys_listen_tcp(const char *host, uint16_t port, int backlog, enum csys_sharing sharing) {
    bool any = host == NULL || *host == 0;
    char service[8];
    snprintf(service, sizeof service, "%u", (unsigned)port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    int failed = getaddrinfo(any ? "::" : host, service, &hints, &found);
    if (failed == 0) {
        int result = -EADDRNOTAVAIL;
        for (struct addrinfo *at = found; at != NULL; at = at->ai_next) {
            result = listen_at(at, backlog, sharing, any);
            if (result >= 0) break;
        }
        freeaddrinfo(found);
        if (!any || result != -EAFNOSUPPORT) return result;
    } else if (!any) {
        return failed == EAI_SYSTEM ? -errno : -ENOENT;
    }
    // A host without IPv6 at all.
    struct sockaddr_in every = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct addrinfo at = {
        .ai_family = AF_INET, .ai_addr = (struct sockaddr *)&every, .ai_addrlen = sizeof every};
    return listen_at(&at, backlog, sharing, false);
}

static int unix_address(const char *path, struct sockaddr_un *address) {
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof address->sun_path) return -ENAMETOOLONG;
    memcpy(address->sun_path, path, length);
    return 0;
}

int csys_listen_unix(const char *path, uint32_t mode, int backlog) {
    struct sockaddr_un address;
    int failed = unix_address(path, &address);
    if (failed < 0) return failed;
    int fd = csys_socket(AF_UNIX);
    if (fd < 0) return fd;
    // Linux gives the file the mode of the unbound socket, less the umask: so it is never wider than asked for, not
    // even between bind and chmod.
    if (fchmod(fd, mode) < 0) return close_with(fd, errno);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) < 0) return close_with(fd, errno);
    if (chmod(path, mode) < 0 || listen(fd, backlog) < 0) {
        int error = errno;
        unlink(path);
        return close_with(fd, error);
    }
    return fd;
}

int csys_unix_probe(const char *path) {
    struct sockaddr_un address;
    int failed = unix_address(path, &address);
    if (failed < 0) return failed;
    int fd = csys_socket(AF_UNIX);
    if (fd < 0) return fd;
    int result = connect(fd, (struct sockaddr *)&address, sizeof address) < 0 ? -errno : 0;
    close(fd);
    return result == -EAGAIN ? 0 : result;  // EAGAIN: a process listens, and the backlog is full
}

int csys_is_listening(int fd) {
    int value = 0, type = 0;
    socklen_t size = sizeof value;
    if (getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0) return -errno;
    size = sizeof value;
    if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &size) < 0) return -errno;
    return type == SOCK_STREAM && value ? 1 : 0;
}

int csys_stop_handshakes(int fd) {
    int domain = 0;
    socklen_t length = sizeof domain;
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &length) < 0) return -errno;
    if (domain != AF_INET && domain != AF_INET6) return 0;
    // A filter of a TCP socket sees segments from the TCP header on: byte 13 holds the flags. SYN without ACK opens a
    // connection: it is dropped, its sender tries again a second later and finds the socket closed.
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13),
        BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x12),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0x02, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0),
        BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};
    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) < 0 ? -errno : 0;
}

int csys_set_nonblocking_cloexec(int fd) {
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) return -errno;
    flags = fcntl(fd, F_GETFD);
    if (flags < 0 || fcntl(fd, F_SETFD, flags | FD_CLOEXEC) < 0) return -errno;
    return 0;
}

int csys_set_stream_options(int fd) {
    int one = 1;
    if (setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one) < 0) return -errno;
    return setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one) < 0 ? -errno : 0;
}

int csys_set_send_buffer(int fd, int bytes) {
    return setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes) < 0 ? -errno : 0;
}

int csys_set_unsent(int fd, int bytes) {
    return setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &bytes, sizeof bytes) < 0 ? -errno : 0;
}

int csys_queued(int fd) {
    int count = 0;
    return ioctl(fd, TIOCOUTQ, &count) < 0 ? -errno : count;  // SIOCOUTQ by its other name
}

int csys_unread(int fd) {
    int count = 0;
    return ioctl(fd, FIONREAD, &count) < 0 || count < 0 ? 0 : count;
}

int csys_local_address(int fd, struct csys_address *address) {
    address->length = sizeof address->storage;
    return getsockname(fd, (struct sockaddr *)&address->storage, &address->length) < 0 ? -errno : 0;
}

bool csys_address_is_loopback(const struct csys_address *address) {
    if (address->storage.ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->storage;
        return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
    }
    if (address->storage.ss_family != AF_INET6) return false;
    const struct in6_addr *v6 = &((const struct sockaddr_in6 *)&address->storage)->sin6_addr;
    return IN6_IS_ADDR_LOOPBACK(v6) || (IN6_IS_ADDR_V4MAPPED(v6) && v6->s6_addr[12] == 127);
}

int csys_address_format(const struct csys_address *address, char *text, int capacity) {
    char host[INET6_ADDRSTRLEN];
    int count;
    if (address->storage.ss_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->storage;
        const uint8_t *byte = (const uint8_t *)&v4->sin_addr;
        count = snprintf(
            text, (size_t)capacity, "%u.%u.%u.%u:%u", byte[0], byte[1], byte[2], byte[3], ntohs(v4->sin_port));
    } else if (address->storage.ss_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address->storage;
        // A client that speaks IPv4 to a socket for both is reported by its own address (RFC 4291, 2.5.5.2).
        bool mapped = IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr);
        if (mapped) inet_ntop(AF_INET, &v6->sin6_addr.s6_addr[12], host, sizeof host);
        else inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof host);
        count = snprintf(text, (size_t)capacity, mapped ? "%s:%u" : "[%s]:%u", host, ntohs(v6->sin6_port));
    } else {
        const struct sockaddr_un *un = (const struct sockaddr_un *)&address->storage;
        bool named = address->length > offsetof(struct sockaddr_un, sun_path) && un->sun_path[0] != 0;
        count = snprintf(text, (size_t)capacity, named ? "unix:%.108s" : "unix%.0s", un->sun_path);
    }
    return count < capacity ? count : capacity - 1;
}

int csys_connect(const struct csys_address *address) {
    int fd = csys_socket(address->storage.ss_family);
    if (fd < 0) return fd;
    if (address->storage.ss_family != AF_UNIX) {
        int one = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    }
    if (connect(fd, (const struct sockaddr *)&address->storage, address->length) < 0 && errno != EINPROGRESS)
        return close_with(fd, errno);
    return fd;
}

int csys_socket_error(int fd) {
    int error = 0;
    socklen_t size = sizeof error;
    if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0) return -errno;
    return -error;
}

/// Whether a server accepts at this address in this time.
static int try_server(const struct csys_address *address, int milliseconds) {
    int fd = csys_connect(address);
    if (fd < 0) return fd;
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    int ready = (int)CSYS_REPEAT(poll(&wait, 1, milliseconds));
    int result = ready < 0 ? ready : ready == 0 ? -ETIMEDOUT : csys_socket_error(fd);
    close(fd);
    return result;
}

int csys_find_server(const char *host, uint16_t port, int milliseconds, struct csys_address *address) {
    char service[8];
    snprintf(service, sizeof service, "%u", (unsigned)port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    int failed = getaddrinfo(host, service, &hints, &found);
    if (failed != 0) return failed == EAI_SYSTEM ? -errno : -ENOENT;
    int result = -EADDRNOTAVAIL;
    for (struct addrinfo *at = found; at != NULL && result != 0; at = at->ai_next) {
        if (at->ai_addrlen > sizeof address->storage) continue;
        memset(address, 0, sizeof *address);
        memcpy(&address->storage, at->ai_addr, at->ai_addrlen);
        address->length = at->ai_addrlen;
        result = try_server(address, milliseconds);
    }
    freeaddrinfo(found);
    return result;
}

int csys_find_unix_server(const char *path, struct csys_address *address) {
    memset(address, 0, sizeof *address);
    int failed = unix_address(path, (struct sockaddr_un *)&address->storage);
    if (failed < 0) return failed;
    address->length = sizeof(struct sockaddr_un);
    return try_server(address, 1000);
}

int csys_set_abortive_close(int fd) {
    struct linger now = {.l_onoff = 1, .l_linger = 0};
    return setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now) < 0 ? -errno : 0;
}

// MARK: files and memory

int csys_open_reserve(void) {
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -errno : fd;
}

int csys_file_identity(const char *path, uint64_t *device, uint64_t *inode, bool *is_socket) {
    struct stat found;
    if (lstat(path, &found) < 0) return -errno;
    *device = (uint64_t)found.st_dev;
    *inode = (uint64_t)found.st_ino;
    *is_socket = S_ISSOCK(found.st_mode);
    return 0;
}

/// A user's or group's number: digits alone, and not the highest, which chown(2) takes for "leave it as it is".
static bool parse_id(const char *text, unsigned *id) {
    if (*text == 0 || text[strspn(text, "0123456789")] != 0) return false;
    errno = 0;
    unsigned long long value = strtoull(text, NULL, 10);
    if (errno != 0 || value >= UINT32_MAX) return false;
    *id = (unsigned)value;
    return true;
}

int csys_chown(const char *path, const char *owner) {
    // user, user:group or :group; names or numbers.
    char user[64];
    size_t length = strcspn(owner, ":");
    if (length >= sizeof user) return -EINVAL;
    memcpy(user, owner, length);
    user[length] = 0;
    const char *group = owner[length] == ':' ? owner + length + 1 : "";
    unsigned uid = (unsigned)-1, gid = (unsigned)-1;
    if (*user && !parse_id(user, &uid)) {
        struct passwd *found = getpwnam(user);
        if (found == NULL) return -ENOENT;
        uid = found->pw_uid;
    }
    if (*group && !parse_id(group, &gid)) {
        struct group *found = getgrnam(group);
        if (found == NULL) return -ENOENT;
        gid = found->gr_gid;
    }
    // The file itself, in case a link was put in its place.
    return lchown(path, uid, gid) < 0 ? -errno : 0;
}

void *csys_map(size_t bytes) {
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return NULL;
    // With huge pages one byte could take two megabytes. A kernel without them says EINVAL, which is as good.
    madvise(base, bytes, MADV_NOHUGEPAGE);
    return base;
}

void *csys_remap(void *base, size_t from, size_t to) {
    void *moved = mremap(base, from, to, MREMAP_MAYMOVE);
    return moved == MAP_FAILED ? NULL : moved;
}

void csys_unmap(void *base, size_t bytes) { munmap(base, bytes); }

// MARK: time, randomness, threads

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

void csys_release_free_memory(void) {
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}

uint64_t csys_random(void) {
    uint64_t value = 0;
    if (getrandom(&value, sizeof value, GRND_NONBLOCK) == sizeof value) return value;
    return csys_monotonic() ^ ((uint64_t)getpid() << 32);  // early boot only; nothing here is a secret
}

struct thread_start {
    void (*body)(void *);
    void *argument;
    char name[16];
};

static void *thread_main(void *raw) {
    struct thread_start start = *(struct thread_start *)raw;
    free(raw);
    // Here, and not in the thread that starts this one: a detached thread may have ended by then, and its handle is gone.
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
    // Signals are for the thread that waits on a signalfd: a new thread inherits the mask of the one that starts it.
    sigset_t all, before;
    sigfillset(&all);
    // Not those that a defect of the thread's own raises: blocked, they would kill without a backtrace.
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
    // All are there at the same time: the gate opens when no more are started.
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
    // pthread_join returns a moment before the kernel stops counting a thread.
    for (int i = 0; i < started; i++) {
        for (int look = 0; look < 1000 && syscall(SYS_tgkill, getpid(), probe.ids[i], 0) == 0; look++) usleep(100);
    }
    pthread_mutex_destroy(&probe.gate);
    // Any other error says nothing about the limit.
    return failed != EAGAIN;
}

// MARK: a process of one's own making

int csys_spawn(const char *path, char *const arguments[], char *const environment[], int *output) {
    int pipe_ends[2];
    if (pipe2(pipe_ends, O_CLOEXEC) < 0) return -errno;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int problem = posix_spawn_file_actions_init(&actions);
    if (problem == 0) {
        problem = posix_spawnattr_init(&attributes);
        if (problem == 0) {
            // This process reads some signals from a descriptor and has them blocked: a child would inherit that.
            sigset_t none, all;
            sigemptyset(&none);
            sigfillset(&all);
            short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP;
            if (problem == 0) problem = posix_spawnattr_setsigmask(&attributes, &none);
            if (problem == 0) problem = posix_spawnattr_setsigdefault(&attributes, &all);
            if (problem == 0) problem = posix_spawnattr_setpgroup(&attributes, 0);
            if (problem == 0) problem = posix_spawnattr_setflags(&attributes, flags);
            if (problem == 0)
                problem = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
            if (problem == 0) problem = posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
            if (problem == 0) problem = posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDERR_FILENO);
            pid_t pid = 0;
            if (problem == 0) problem = posix_spawn(&pid, path, &actions, &attributes, arguments, environment);
            posix_spawnattr_destroy(&attributes);
            if (problem == 0) {
                posix_spawn_file_actions_destroy(&actions);
                close(pipe_ends[1]);
                *output = pipe_ends[0];
                return pid;
            }
        }
        posix_spawn_file_actions_destroy(&actions);
    }
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    return -problem;
}

int csys_wait_readable(int fd, int milliseconds) {
    struct pollfd entry = {.fd = fd, .events = POLLIN};
    int count = poll(&entry, 1, milliseconds);
    if (count < 0) return errno == EINTR ? 0 : -errno;
    return count > 0;
}

int csys_wait_child(int pid, int *signal, int *exit_status) {
    int status = 0;
    long result = CSYS_REPEAT(waitpid(pid, &status, 0));
    if (result < 0) return (int)result;
    *signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    *exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    return 0;
}

int csys_kill_group(int pid) { return pid > 1 && kill(-pid, SIGKILL) < 0 ? -errno : 0; }

int csys_confine(int parent, unsigned seconds, uint64_t memory) {
    int problem = 0;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0) problem = -errno;
    // The parent may have ended before the line above: then no signal would come.
    if (getppid() != parent) _exit(1);
    // Ends the process whatever it does then, if nothing else does. Its parent may have left the signal blocked.
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    int blocked = pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
    if (blocked != 0) problem = -blocked;
    alarm(seconds);
    struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_CORE, &none) < 0) problem = -errno;
    if (memory > 0) {
        struct rlimit limit = {memory, memory};
        if (setrlimit(RLIMIT_DATA, &limit) < 0) problem = -errno;
    }
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0) return -errno;
    if (write(fd, "1000", 4) < 0) problem = -errno;
    close(fd);
    return problem;
}

int csys_has_vnni(void) {
#if defined(__x86_64__)
    return (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni")) || __builtin_cpu_supports("avxvnni");
#else
    return 0;
#endif
}

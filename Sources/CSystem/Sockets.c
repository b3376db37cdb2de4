#define _GNU_SOURCE 1
#include "CSystem.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/un.h>

int csys_accept(int fd, struct csys_address *address) {
    address->length = sizeof address->storage;
    int accepted = accept4(fd, (struct sockaddr *)&address->storage, &address->length, SOCK_CLOEXEC | SOCK_NONBLOCK);
    return accepted < 0 ? -errno : accepted;
}

long csys_discard(int fd, size_t count) {
    // With a NULL buffer, MSG_TRUNC discards bytes, but only for TCP; other families need a buffer.
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
    // Only now: if the first socket had been bound with this option, it could have joined those of another process.
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
    // The host has no IPv6.
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
    // Linux gives the file the mode of the unbound socket, less the umask, so it is never wider than requested, not even between
    // bind and chmod.
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
    return result == -EAGAIN ? 0 : result;  // EAGAIN: a process listens, and its backlog is full
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
    // The filter of a TCP socket sees segments from the TCP header on; byte 13 has the flags. Drop SYN without ACK, which opens a
    // connection: the sender retries a second later and finds the socket closed.
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

int csys_set_user_timeout(int fd, unsigned milliseconds) {
    return setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds, sizeof milliseconds) < 0 ? -errno : 0;
}

int csys_queued(int fd) {
    int count = 0;
    return ioctl(fd, TIOCOUTQ, &count) < 0 ? -errno : count;  // another name of SIOCOUTQ
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
        // Report IPv4 clients of a dual-stack socket by their IPv4 address (RFC 4291, 2.5.5.2).
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

/// True if a server accepts a connection at this address in time.
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

#define _GNU_SOURCE 1
#include "CSystem.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

int csys_socket_pair(int ends[2]) {
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0 ? -errno : 0;
}

/// Anonymous memory sealed against resizing.
static int fixed_memory(const char *name, size_t bytes, const void *contents) {
    int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd < 0) return -errno;
    int problem = 0;
    int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | (contents ? F_SEAL_WRITE : 0);
    if (ftruncate(fd, (off_t)bytes) < 0) problem = -errno;
    size_t done = 0;
    while (problem == 0 && contents && done < bytes) {
        long count = CSYS_REPEAT(pwrite(fd, (const char *)contents + done, bytes - done, (off_t)done));
        if (count <= 0) problem = count < 0 ? (int)count : -ENOSPC;
        else done += (size_t)count;
    }
    if (problem == 0 && fcntl(fd, F_ADD_SEALS, seals) < 0) problem = -errno;
    if (problem == 0) return fd;
    close(fd);
    return problem;
}

int csys_memory_file(size_t bytes) { return fixed_memory("pixels", bytes, NULL); }

int csys_memory_copy(const void *contents, size_t bytes) { return fixed_memory("picture", bytes, contents); }

void *csys_map_file(int fd, size_t bytes) {
    void *base = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    return base == MAP_FAILED ? NULL : base;
}

int csys_send_descriptors(int fd, const void *bytes, size_t count, const int *descriptors, int descriptor_count) {
    enum { most = 4 };
    if (descriptor_count < 1 || descriptor_count > most) return -EINVAL;
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(most * sizeof(int))];
    } control;
    memset(&control, 0, sizeof control);
    size_t length = (size_t)descriptor_count * sizeof(int);
    struct iovec piece = {.iov_base = (void *)bytes, .iov_len = count};
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = CMSG_SPACE(length)};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(length);
    memcpy(CMSG_DATA(header), descriptors, length);
    long sent = CSYS_REPEAT(sendmsg(fd, &message, MSG_NOSIGNAL));
    return sent < 0 ? (int)sent : 0;
}

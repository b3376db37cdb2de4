#define _GNU_SOURCE 1
#include "Confinement.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/// The maximum number of threads of a child at the same time. libde265 starts one for each picture and each tile, one
/// after the other; the other libraries start none.
enum { most_threads = 64 };

int ccodec_guard_threads(void) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof filter / sizeof *filter, .filter = filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return -1;
    return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
}

bool ccodec_send_guard(int socket, int guard) {
    pid_t pid = getpid();
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } rights = {.header = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    memcpy(CMSG_DATA(&rights.header), &guard, sizeof guard);
    struct iovec piece = {.iov_base = &pid, .iov_len = sizeof pid};
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = rights.room, .msg_controllen = sizeof rights.room};
    return sendmsg(socket, &message, MSG_NOSIGNAL) == (long)sizeof pid;
}

int ccodec_receive_guard(int socket, pid_t *pid) {
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } rights;
    struct iovec piece = {.iov_base = pid, .iov_len = sizeof *pid};
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = rights.room, .msg_controllen = sizeof rights.room};
    if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != (long)sizeof *pid) return -1;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    if (!header || header->cmsg_len != CMSG_LEN(sizeof(int))) return -1;
    int guard;
    memcpy(&guard, CMSG_DATA(header), sizeof guard);
    return guard;
}

/// The number of threads of a process: the links of its task folder, less the two of every folder.
static unsigned long threads(pid_t pid) {
    char path[40];
    struct stat folder;
    snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
    return stat(path, &folder) == 0 && folder.st_nlink > 2 ? folder.st_nlink - 2 : most_threads;
}

void ccodec_answer_guard(int guard, pid_t pid) {
    // Later kernels may write more than these headers define.
    union {
        struct seccomp_notif value;
        char room[512];
    } question;
    union {
        struct seccomp_notif_resp value;
        char room[512];
    } answer;
    memset(&question, 0, sizeof question);
    memset(&answer, 0, sizeof answer);
    // The calling process may have ended meanwhile.
    if (ioctl(guard, SECCOMP_IOCTL_NOTIF_RECV, &question.value) < 0) return;
    answer.value.id = question.value.id;
    // The arguments of an allowed call are in registers, which no other thread can change.
    if (threads(pid) < most_threads) answer.value.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    else answer.value.error = -EAGAIN;
    (void)ioctl(guard, SECCOMP_IOCTL_NOTIF_SEND, &answer.value);
}

#define _GNU_SOURCE 1
#include "Confinement.h"
#include "Internal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/// The only descriptor that the child keeps open.
enum { data = 3 };

static bool say(struct ccodec_statement *statement, uint32_t kind) {
    statement->kind = kind;
    long sent;
    do sent = send(data, statement, sizeof *statement, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent == (long)sizeof *statement;
}

/// Waits for the memory for the pixels: a descriptor, sent with one byte.
static int receive_memory(void) {
    char byte;
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec piece = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
    long count;
    do count = recvmsg(data, &message, 0);
    while (count < 0 && errno == EINTR);
    struct cmsghdr *header = count == 1 ? CMSG_FIRSTHDR(&message) : NULL;
    if (!header || header->cmsg_type != SCM_RIGHTS) return -1;
    int descriptor;
    memcpy(&descriptor, CMSG_DATA(header), sizeof descriptor);
    return descriptor;
}

_Noreturn void ccodec_child(const struct ccodec *codec, const struct ccodec_job *job, int picture, int socket) {
    struct ccodec_statement statement;
    memset(&statement, 0, sizeof statement);
    struct ccodec_input input = {.count = job->bytes, .page = job->page};
    void *bytes = mmap(NULL, job->bytes, PROT_READ, MAP_SHARED, picture, 0);
    if (socket != data && dup2(socket, data) < 0) _exit(1);
    ccodec_close_from(data + 1);
    for (int descriptor = 0; descriptor < data; descriptor++) close(descriptor);
    bool confined = bytes != MAP_FAILED && ccodec_limit(job->seconds, job->most_seconds) && ccodec_confine();
    input.bytes = bytes;
    if (!confined) {
        ccodec_refuse(&statement, "the process that decodes it could not be confined");
        say(&statement, CCODEC_REFUSED);
        _exit(1);
    }
    if (!codec->open(&input, &statement)) {
        say(&statement, CCODEC_REFUSED);
        _exit(0);
    }
    if (!say(&statement, CCODEC_SIZE)) _exit(1);
    int memory = receive_memory();
    if (memory < 0) _exit(1);
    size_t count = (size_t)statement.width * statement.height * 4;
    void *pixels = mmap(NULL, count, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    close(memory);
    if (pixels == MAP_FAILED) {
        ccodec_refuse(&statement, "out of memory");
        say(&statement, CCODEC_REFUSED);
        _exit(0);
    }
    say(&statement, codec->decode(pixels, &statement) ? CCODEC_DONE : CCODEC_REFUSED);
    _exit(0);
}

#define _GNU_SOURCE 1
#include "CSystem.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

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

/// Parses the number of a user or group: only digits, and not the highest number, which means "unchanged" to chown(2).
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
    // lchown does not follow the link if the file was replaced by one.
    return lchown(path, uid, gid) < 0 ? -errno : 0;
}

void *csys_map(size_t bytes) {
    void *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (base == MAP_FAILED) return NULL;
    // With huge pages, one byte could take two megabytes. A kernel without them returns EINVAL, which is fine.
    madvise(base, bytes, MADV_NOHUGEPAGE);
    return base;
}

void *csys_remap(void *base, size_t from, size_t to) {
    void *moved = mremap(base, from, to, MREMAP_MAYMOVE);
    return moved == MAP_FAILED ? NULL : moved;
}

void csys_unmap(void *base, size_t bytes) { munmap(base, bytes); }

const char *csys_file_with(const void *function) {
    Dl_info info;
    return dladdr(function, &info) ? info.dli_fname : NULL;
}

int csys_rename_new(const char *from, const char *to) {
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) < 0 ? -errno : 0;
}

int csys_exchange(const char *first, const char *second) {
    return renameat2(AT_FDCWD, first, AT_FDCWD, second, RENAME_EXCHANGE) < 0 ? -errno : 0;
}

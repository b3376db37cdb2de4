// Records the calls that change files below a folder, so that a test can compute what a power failure leaves of them. Preloaded into a
// program: POWER_FOLDER is the folder, POWER_LOG the file for the records. A record is a line, followed by the bytes that it counts:
//
//   create INODE LENGTH path | write INODE OFFSET LENGTH bytes | size INODE LENGTH | sync INODE
//   folder LENGTH path | sync-folder LENGTH path | rename LENGTH LENGTH paths | remove LENGTH path | output LENGTH bytes
//
// A record is written while the lock of the call is held, so that the records are in the order of the calls of all threads.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const char *folder;
static int records = -1;

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

__attribute__((constructor)) static void begin(void) {
    folder = getenv("POWER_FOLDER");
    const char *path = getenv("POWER_LOG");
    if (folder && path) records = REAL(open)(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
}

static int is_inside(const char *path) { return records >= 0 && path && strncmp(path, folder, strlen(folder)) == 0; }

/// The path of a descriptor; false if it is not below the folder.
static int is_inside_descriptor(int descriptor, char path[4096], struct stat *status) {
    char link[64];
    if (records < 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t count = readlink(link, path, 4095);
    if (count < 0) return 0;
    path[count] = 0;
    return is_inside(path) && fstat(descriptor, status) == 0;
}

static void put(const void *bytes, size_t count) {
    for (size_t done = 0; done < count;) {
        ssize_t result = REAL(write)(records, (const char *)bytes + done, count - done);
        if (result < 0) abort();
        done += (size_t)result;
    }
}

static void line(const char *format, ...) {
    char text[128];
    va_list arguments;
    va_start(arguments, format);
    int count = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    put(text, (size_t)count);
}

int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = (flags & O_CREAT) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    if (!is_inside(path)) return REAL(open)(path, flags, mode);
    pthread_mutex_lock(&lock);
    int is_new = (flags & O_CREAT) && access(path, F_OK) != 0;
    int descriptor = REAL(open)(path, flags, mode);
    struct stat status;
    if (descriptor >= 0 && fstat(descriptor, &status) == 0) {
        if (is_new) {
            line("create %lu %zu\n", (unsigned long)status.st_ino, strlen(path));
            put(path, strlen(path));
        } else if (flags & O_TRUNC) {
            line("size %lu 0\n", (unsigned long)status.st_ino);
        }
    }
    pthread_mutex_unlock(&lock);
    return descriptor;
}

ssize_t write(int descriptor, const void *bytes, size_t count) {
    char path[4096];
    struct stat status;
    pthread_mutex_lock(&lock);
    off_t place = lseek(descriptor, 0, SEEK_CUR);
    ssize_t result = REAL(write)(descriptor, bytes, count);
    if (result > 0 && descriptor == 1 && records >= 0) {
        line("output %zd\n", result);
        put(bytes, (size_t)result);
    } else if (result > 0 && is_inside_descriptor(descriptor, path, &status)) {
        line("write %lu %ld %zd\n", (unsigned long)status.st_ino, (long)place, result);
        put(bytes, (size_t)result);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

static void resized(int descriptor) {
    char path[4096];
    struct stat status;
    if (is_inside_descriptor(descriptor, path, &status)) {
        line("size %lu %ld\n", (unsigned long)status.st_ino, (long)status.st_size);
    }
}

#define RESIZING(declaration, call)         \
    declaration {                           \
        pthread_mutex_lock(&lock);          \
        int result = call;                  \
        if (result == 0) resized(descriptor); \
        pthread_mutex_unlock(&lock);        \
        return result;                      \
    }

RESIZING(int ftruncate(int descriptor, off_t length), REAL(ftruncate)(descriptor, length))
RESIZING(int posix_fallocate(int descriptor, off_t offset, off_t length), REAL(posix_fallocate)(descriptor, offset, length))

int fsync(int descriptor) {
    char path[4096];
    struct stat status;
    pthread_mutex_lock(&lock);
    int result = REAL(fsync)(descriptor);
    if (result == 0 && is_inside_descriptor(descriptor, path, &status)) {
        if (S_ISDIR(status.st_mode)) {
            line("sync-folder %zu\n", strlen(path));
            put(path, strlen(path));
        } else {
            line("sync %lu\n", (unsigned long)status.st_ino);
        }
    }
    pthread_mutex_unlock(&lock);
    return result;
}

static void named(int result, const char *kind, const char *path) {
    if (result == 0 && is_inside(path)) {
        line("%s %zu\n", kind, strlen(path));
        put(path, strlen(path));
    }
}

#define NAMING(declaration, call, kind)  \
    declaration {                        \
        pthread_mutex_lock(&lock);       \
        int result = call;               \
        named(result, kind, path);       \
        pthread_mutex_unlock(&lock);     \
        return result;                   \
    }

NAMING(int unlink(const char *path), REAL(unlink)(path), "remove")
NAMING(int rmdir(const char *path), REAL(rmdir)(path), "remove")
NAMING(int mkdir(const char *path, mode_t mode), REAL(mkdir)(path, mode), "folder")

int rename(const char *from, const char *to) {
    pthread_mutex_lock(&lock);
    int result = REAL(rename)(from, to);
    if (result == 0 && is_inside(from)) {
        line("rename %zu %zu\n", strlen(from), strlen(to));
        put(from, strlen(from));
        put(to, strlen(to));
    }
    pthread_mutex_unlock(&lock);
    return result;
}

// The process that decodes pictures, with its codecs; or, as `codecprobe hostile`, with codecs that their pictures have
// taken over. The first byte of the picture selects the action of such a codec. Descriptor 3 is its socket.

#include "CConfinedCodecs.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static char order;

static bool state(struct ccodec_statement *statement, uint32_t width, uint32_t height) {
    statement->width = width;
    statement->height = height;
    statement->orientation = 1;
    statement->memory = 1 << 20;
    return true;
}

static _Noreturn void hang(void) {
    while (true) {}
}

/// Allocates `most` MiB; aborts if that fails.
static bool burst(int flags, int most, struct ccodec_statement *statement) {
    for (size_t taken = 0, count = 1 << 20; taken < (size_t)most; taken++) {
        void *bytes = mmap(NULL, count, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);
        if (bytes == MAP_FAILED) abort();
        memset(bytes, 1, count);
    }
    return state(statement, 4, 4);
}

static void *hang_thread(void *nothing) {
    (void)nothing;
    hang();
}

static void *say_nothing(void *nothing) { return nothing; }

static void *stay(void *nothing) {
    (void)nothing;
    while (true) sleep(1);
}

/// Starts threads until that fails or there are too many. Their stacks are small, because memory would also limit their
/// number.
static bool many_threads(struct ccodec_statement *statement) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 16 << 10);
    for (int count = 0; count < 200; count++) {
        pthread_t thread;
        if (pthread_create(&thread, &attributes, stay, NULL) != 0) return state(statement, 4, 4);
    }
    abort();
}

/// Starts as many threads as large pictures with many tiles need, one after the other.
static bool threads_in_turn(struct ccodec_statement *statement) {
    for (int count = 0; count < 300; count++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, say_nothing, NULL) != 0 || pthread_join(thread, NULL) != 0) abort();
    }
    return state(statement, 4, 4);
}

static void say(struct ccodec_statement statement, uint32_t kind, size_t count) {
    statement.kind = kind;
    (void)!send(3, &statement, count, 0);
}

static bool open_hostile(const struct ccodec_input *input, struct ccodec_statement *statement) {
    order = (char)input->bytes[0];
    switch (order) {
    case 'c': raise(SIGSEGV); abort();
    // Write to the picture, which is read-only.
    case 'I':
        if (mprotect((void *)(uintptr_t)input->bytes, input->count, PROT_READ | PROT_WRITE) != 0)
            *(volatile uint8_t *)(uintptr_t)input->bytes = 0;
        break;
    case 'h': hang();
    // Two threads use processor time faster than the clock runs.
    case '2': {
        pthread_t thread;
        if (pthread_create(&thread, NULL, hang_thread, NULL) == 0) hang();
        abort();
    }
    // Report the address of the C library as the size.
    case 'A': {
        uintptr_t place = (uintptr_t)(void *)abort >> 12;
        return state(statement, (place & 0x3FFF) + 1, (place >> 14 & 0x3FFF) + 1);
    }
    case 't': return many_threads(statement);
    case 'i': return threads_in_turn(statement);
    // Allocate more private memory than a header may use.
    case 'm': return burst(MAP_PRIVATE, 80, statement);
    // Allocate memory that does not count as private.
    case 'S': return burst(MAP_SHARED, 1024, statement);
    case 'G': return burst(MAP_PRIVATE | MAP_GROWSDOWN, 1024, statement);
    case '0': return state(statement, 0, 5);
    case 'W': return state(statement, UINT32_MAX, UINT32_MAX);
    case 'P': return state(statement, 60000, 60000);
    case 's': say(*statement, CCODEC_SIZE, 7); break;
    case 'k': say(*statement, 99, sizeof *statement); break;
    case 'd': state(statement, 4, 4); say(*statement, CCODEC_DONE, sizeof *statement); break;
    case 'q': _exit(3);
    // Return a reason that is not text.
    case 'r': memset(statement->reason, 0xFF, sizeof statement->reason); return false;
    case 'o': open("/etc/passwd", O_RDONLY) < 0 ? (void)0 : abort(); return state(statement, 4, 4);
    case 'f': (void)!syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); break;
    case 'u': (void)!ftruncate(3, 0); break;
    case 'n': socket(AF_INET, SOCK_STREAM, 0); break;
    case 'x': execl("/bin/true", "true", NULL); break;
    case 'K': kill(getppid(), SIGKILL); break;
    // Map executable memory.
    case 'X': mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); break;
    case 'g': for (int fd = 0; fd < 64; fd++) if (fd != 3 && write(fd, "x", 1) == 1) abort(); break;
    default: break;
    }
    return state(statement, 4, 4);
}

static bool decode_hostile(uint8_t *pixels, struct ccodec_statement *statement) {
    memset(pixels, 0x7F, 4 * 4 * 4);
    switch (order) {
    case 'C': raise(SIGSEGV); abort();
    case 'H': hang();
    // Use as much time as a slow picture.
    case 'Q': while (clock() < CLOCKS_PER_SEC * 13 / 10) {} break;
    case 'M': return burst(MAP_PRIVATE, 1024, statement);
    case 'B': return burst(MAP_SHARED, 1024, statement);
    // State a size that exceeds the memory.
    case 'L': statement->width = 4000; break;
    case 'Z': statement->height = 0; break;
    // Write past the end of the memory.
    case 'O': for (size_t at = 0;; at += 4096) pixels[at] = 1;
    // Report the end and continue to write.
    case 'w':
        say(*statement, CCODEC_DONE, sizeof *statement);
        while (true) memset(pixels, rand(), 64);
    case 'T': for (int count = 0; count < 100000; count++) say(*statement, CCODEC_SIZE, sizeof *statement); break;
    default: break;
    }
    return true;
}

int main(int count, char **arguments) {
    if (count < 2 || strcmp(arguments[1], "hostile") != 0) return ccodec_serve(3, ccodec_all, ccodec_count);
    static const struct ccodec hostile[] = {{CCODEC_BMP, NULL, open_hostile, decode_hostile}};
    return ccodec_serve(3, hostile, 1);
}

#pragma once
// Decodes pictures of formats with large libraries, in processes that can do nothing else.
//
// A helper process (ccodec_serve) opens the libraries with dlopen and forks a process for each picture. That process
// has the picture, one socket, and memory; seccomp allows it little more than computing. It states the picture's size;
// the daemon answers with memory of a fixed size for the pixels; then it decodes.
//
// The sockets are of type SOCK_SEQPACKET: each message is one of the structures below, in the format of this machine.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The formats; each value is the index in ccodec_hello.
enum ccodec_format { CCODEC_HEIC, CCODEC_AVIF, CCODEC_TIFF, CCODEC_GIF, CCODEC_BMP, CCODEC_JXL, CCODEC_FORMATS };

enum { CCODEC_REASON = 200 };

/// A message of the helper to the daemon, sent once on its control socket: the reason why each format cannot be
/// decoded; empty for a format that can.
struct ccodec_hello {
    char absent[CCODEC_FORMATS][CCODEC_REASON];
};

/// A message of the daemon to the helper: decode a picture. It has three descriptors: the picture (a sealed memfd), the
/// child's end of a socket, and the helper's end of the child's leash. Closing the leash ends the child.
struct ccodec_job {
    uint32_t format;
    uint32_t page;
    uint64_t bytes;
    /// The private memory in bytes and the processor time in seconds for reading the header.
    uint64_t memory;
    uint32_t seconds;
    /// The maximum processor time of any allowance, in seconds.
    uint32_t most_seconds;
};

/// A message of the daemon to the helper, on the leash: the new limits of the child. `memory` is private memory;
/// `shared` is the bytes of the picture and its pixels, which are shared; `seconds` is the processor time for header
/// and pixels. The answer is CCODEC_LIMITED.
struct ccodec_allowance {
    uint64_t memory;
    uint64_t shared;
    uint64_t seconds;
};

enum ccodec_event_kind { CCODEC_LIMITED = 1, CCODEC_ENDED = 2 };

/// A message of the helper to the daemon, on the leash.
struct ccodec_event {
    uint32_t kind;
    /// The end of the child, as reported by wait(2): the signal, or 0 and the exit status.
    int32_t signal;
    int32_t status;
    uint32_t unused;
};

enum ccodec_statement_kind { CCODEC_SIZE = 1, CCODEC_DONE = 2, CCODEC_REFUSED = 3 };

/// A message of the child to the daemon: the size of the picture before it is decoded, the decoded size, or the reason
/// for a refusal.
struct ccodec_statement {
    uint32_t kind;
    uint32_t width;
    uint32_t height;
    /// The orientation that must still be applied: 1 to 8, as in EXIF.
    uint32_t orientation;
    /// 1 if the fourth byte of a pixel is opacity.
    uint32_t has_alpha;
    /// An upper bound of the private memory for decoding, in bytes.
    uint64_t memory;
    char reason[CCODEC_REASON];
};

/// A picture in memory.
struct ccodec_input {
    const uint8_t *bytes;
    size_t count;
    uint32_t page;
};

/// A codec. A process decodes one picture, so a codec may keep its state in variables.
struct ccodec {
    uint32_t format;
    /// Opens the library, before a picture is received. Returns NULL, or the reason why this failed.
    const char *(*load)(void);
    /// Reads the size; or writes the reason and returns false.
    bool (*open)(const struct ccodec_input *input, struct ccodec_statement *statement);
    /// Writes width * height pixels of 4 bytes (red, green, blue, opacity), from the top left corner; or writes the
    /// reason and returns false. May reduce the size.
    bool (*decode)(uint8_t *pixels, struct ccodec_statement *statement);
};

/// The codecs of this program.
extern const struct ccodec *const ccodec_all;
extern const size_t ccodec_count;

/// Runs the helper: serves jobs from a control socket until the other end is closed. Returns an exit status.
int ccodec_serve(int control, const struct ccodec *codecs, size_t count);

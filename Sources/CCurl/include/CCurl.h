// The part of libcurl's easy interface that Ocelli uses, declared from its documented ABI. The library is opened at run time, by the
// one command that needs it.
#ifndef CCURL_H
#define CCURL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

/// An opened library with one easy handle, which keeps connections between requests. Used by one thread at a time.
struct ccurl;

/// A request. Texts need to live until ``ccurl_perform`` returns.
struct ccurl_request {
    const char *url;
    /// Header lines such as "Accept: */*".
    const char *const _Nullable *_Nonnull headers;
    size_t header_count;
    /// A file and a folder of trusted certificates; NULL for the library's own.
    const char *_Nullable certificate_file;
    const char *_Nullable certificate_folder;
    /// The proxy; NULL for the one that the library reads from the environment.
    const char *_Nullable proxy;
    /// Hosts that are reached without a proxy, "*" for all; NULL for those of the environment.
    const char *_Nullable no_proxy;
    /// True if plain HTTP is allowed too.
    bool allows_http;
    /// True for HEAD.
    bool is_head;
    /// The time in seconds within which a connection must be made, and that without `stall_bytes` in each second ends the request.
    long connect_seconds, stall_seconds, stall_bytes;
    /// Take the next line of the header, or a piece of the body. A result other than `count` ends the request with code 23.
    size_t (*take_header)(const char *bytes, size_t size, size_t count, void *_Nullable context);
    size_t (*take_body)(const char *bytes, size_t size, size_t count, void *_Nullable context);
    void *_Nullable context;
};

/// Opens the library.
/// - Parameter reason: where to write the reason if it cannot be opened.
/// - Returns: NULL if it cannot be opened.
struct ccurl *_Nullable ccurl_open(const char *_Nonnull const *_Nonnull names, size_t name_count, char *reason, size_t size);

/// Performs a request. Blocks. Redirects are not followed.
/// - Parameters:
///   - status: where to write the HTTP status; 0 if no answer has begun.
///   - reason: where to write the library's words for a failure.
/// - Returns: the library's code: 0 for a complete answer of any status.
int ccurl_perform(struct ccurl *, const struct ccurl_request *, long *status, char *reason, size_t size);

/// Closes the handle and its connections. The library stays open.
void ccurl_close(struct ccurl *);

#pragma clang assume_nonnull end

#endif

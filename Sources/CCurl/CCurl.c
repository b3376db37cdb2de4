#include "CCurl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Options by their numbers, which are the same in each version of libcurl.so.4: 0 and more take a long, 10000 and more a pointer, 20000
/// and more a function.
enum {
    low_speed_limit = 19,
    low_speed_time = 20,
    no_body = 44,
    follow_location = 52,
    verify_peer = 64,
    connect_timeout = 78,
    http_get = 80,
    verify_host = 81,
    http_version = 84,
    no_signal = 99,
    protocols = 181,
    suppress_connect_headers = 265,
    body_context = 10001,
    address = 10002,
    proxy = 10004,
    error_text = 10010,
    http_header = 10023,
    header_context = 10029,
    certificate_file = 10065,
    certificate_folder = 10097,
    no_proxy = 10177,
    body_function = 20011,
    header_function = 20079,
};

enum { everything = 3, http_1_1 = 2, protocol_http = 1, protocol_https = 2, response_code = 0x200000 + 2, error_size = 256 };

typedef void easy_handle;
typedef void string_list;

struct ccurl {
    easy_handle *handle;
    void (*reset)(easy_handle *);
    int (*set)(easy_handle *, int option, ...);
    int (*perform)(easy_handle *);
    int (*information)(easy_handle *, int number, ...);
    void (*cleanup)(easy_handle *);
    const char *(*words)(int code);
    string_list *(*append)(string_list *, const char *);
    void (*free_list)(string_list *);
};

static void *open_library(const char *const *names, size_t count, char *reason, size_t size) {
    for (size_t index = 0; index < count; index++) {
        void *library = dlopen(names[index], RTLD_NOW | RTLD_LOCAL);
        if (library) return library;
        const char *error = dlerror();
        snprintf(reason, size, "%s", error ? error : "it cannot be opened");
    }
    return NULL;
}

struct ccurl *ccurl_open(const char *const *names, size_t count, char *reason, size_t size) {
    void *library = open_library(names, count, reason, size);
    struct ccurl *curl = library ? calloc(1, sizeof *curl) : NULL;
    if (!curl) return NULL;
    int (*begin)(long) = NULL;
    easy_handle *(*make)(void) = NULL;
    const struct {
        const char *name;
        void *place;
    } functions[] = {
        {"curl_global_init", &begin},
        {"curl_easy_init", &make},
        {"curl_easy_reset", &curl->reset},
        {"curl_easy_setopt", &curl->set},
        {"curl_easy_perform", &curl->perform},
        {"curl_easy_getinfo", &curl->information},
        {"curl_easy_cleanup", &curl->cleanup},
        {"curl_easy_strerror", &curl->words},
        {"curl_slist_append", &curl->append},
        {"curl_slist_free_all", &curl->free_list},
    };
    for (size_t index = 0; index < sizeof functions / sizeof *functions; index++) {
        void *function = dlsym(library, functions[index].name);
        if (!function) {
            snprintf(reason, size, "it has no %s: it is not libcurl", functions[index].name);
            free(curl);
            return NULL;
        }
        // POSIX lets a pointer to a function be copied from that of dlsym.
        memcpy(functions[index].place, &function, sizeof function);
    }
    if (begin(everything) == 0) curl->handle = make();
    if (!curl->handle) {
        snprintf(reason, size, "it does not start");
        free(curl);
        return NULL;
    }
    return curl;
}

/// Sets the options. Returns false if the library does not know one on which security depends.
static bool prepare(struct ccurl *curl, const struct ccurl_request *request, string_list *headers, char *error) {
    easy_handle *handle = curl->handle;
    long allowed = request->allows_http ? protocol_http | protocol_https : protocol_https;
    bool is_set = curl->set(handle, protocols, allowed) == 0 && curl->set(handle, follow_location, 0L) == 0 &&
        curl->set(handle, verify_peer, 1L) == 0 && curl->set(handle, verify_host, 2L) == 0 &&
        curl->set(handle, address, request->url) == 0;
    if (request->certificate_file) is_set = is_set && curl->set(handle, certificate_file, request->certificate_file) == 0;
    if (request->certificate_folder) is_set = is_set && curl->set(handle, certificate_folder, request->certificate_folder) == 0;
    curl->set(handle, error_text, error);
    curl->set(handle, no_signal, 1L);
    curl->set(handle, http_version, (long)http_1_1);
    curl->set(handle, suppress_connect_headers, 1L);
    curl->set(handle, connect_timeout, request->connect_seconds);
    curl->set(handle, low_speed_limit, request->stall_bytes);
    curl->set(handle, low_speed_time, request->stall_seconds);
    if (request->proxy) curl->set(handle, proxy, request->proxy);
    if (request->no_proxy) curl->set(handle, no_proxy, request->no_proxy);
    curl->set(handle, http_header, headers);
    curl->set(handle, header_function, request->take_header);
    curl->set(handle, header_context, request->context);
    curl->set(handle, body_function, request->take_body);
    curl->set(handle, body_context, request->context);
    if (request->is_head) {
        curl->set(handle, no_body, 1L);
    } else {
        curl->set(handle, http_get, 1L);
    }
    return is_set;
}

int ccurl_perform(struct ccurl *curl, const struct ccurl_request *request, long *status, char *reason, size_t size) {
    char error[error_size] = "";
    string_list *headers = NULL;
    *status = 0;
    *reason = 0;
    for (size_t index = 0; index < request->header_count; index++) {
        string_list *longer = curl->append(headers, request->headers[index]);
        if (!longer) {
            curl->free_list(headers);
            snprintf(reason, size, "out of memory");
            return 27;
        }
        headers = longer;
    }
    // Connections are kept.
    curl->reset(curl->handle);
    int code = prepare(curl, request, headers, error) ? curl->perform(curl->handle) : 48;
    if (code != 0) snprintf(reason, size, "%s", *error ? error : curl->words(code));
    curl->information(curl->handle, response_code, status);
    // The handle must not keep pointers to objects that end here.
    curl->reset(curl->handle);
    curl->free_list(headers);
    return code;
}

void ccurl_close(struct ccurl *curl) {
    curl->cleanup(curl->handle);
    free(curl);
}

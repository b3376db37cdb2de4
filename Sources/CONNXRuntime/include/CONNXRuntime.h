// The part of ONNX Runtime's C API that Ocelli uses, declared from its documented ABI. The library is opened at run time.
//
// The API is a table of function pointers, which later versions only append to: a function is identified by its index. A status of
// NULL means success; any other must be released. Names are those of the API, in C style.
#ifndef CONNXRUNTIME_H
#define CONNXRUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

/// The table of functions. It belongs to the library, and is valid as long as the process runs.
typedef struct {
    const void *_Nullable function[1];
} ort_api;

// Opaque types of the library.
typedef struct OrtStatus ort_status;
typedef struct OrtEnv ort_env;
typedef struct OrtSessionOptions ort_session_options;
typedef struct OrtSession ort_session;
typedef struct OrtRunOptions ort_run_options;
typedef struct OrtValue ort_value;
typedef struct OrtTypeInfo ort_type_info;
typedef struct OrtTensorTypeAndShapeInfo ort_tensor_info;
typedef struct OrtSequenceTypeInfo ort_sequence_info;
typedef struct OrtMapTypeInfo ort_map_info;
typedef struct OrtMemoryInfo ort_memory_info;
typedef struct OrtAllocator ort_allocator;
typedef struct OrtArenaCfg ort_arena_cfg;
typedef struct OrtCUDAProviderOptionsV2 ort_cuda_options;

/// The oldest API version with all functions declared here: library 1.18.
enum { ort_api_version = 18 };

/// Opens a library. It is never closed: it cannot be unloaded while it has threads.
/// - Parameters:
///   - version: receives the library's version, in memory of the library.
///   - reason: receives the reason why it cannot be used, in at most `size` bytes.
/// - Returns: its table; NULL if it cannot be used.
const ort_api *_Nullable ort_open(
    const char *path, const char *_Nullable *_Nonnull version, char *reason, size_t size);

/// True if the system has a locale.
bool ort_has_locale(const char *name);

#define ORT_CALL(place, result, types, values) \
    typedef result(*function) types;           \
    return ((function)(uintptr_t)api->function[place]) values

#define ORT_0(place, name)                                               \
    static inline ort_status *_Nullable ort_##name(const ort_api *api) { \
        ORT_CALL(place, ort_status *_Nullable, (void), ());              \
    }
#define ORT_1(place, name, A)                                                 \
    static inline ort_status *_Nullable ort_##name(const ort_api *api, A a) { \
        ORT_CALL(place, ort_status *_Nullable, (A), (a));                     \
    }
#define ORT_2(place, name, A, B)                                                   \
    static inline ort_status *_Nullable ort_##name(const ort_api *api, A a, B b) { \
        ORT_CALL(place, ort_status *_Nullable, (A, B), (a, b));                    \
    }
#define ORT_3(place, name, A, B, C)                                                     \
    static inline ort_status *_Nullable ort_##name(const ort_api *api, A a, B b, C c) { \
        ORT_CALL(place, ort_status *_Nullable, (A, B, C), (a, b, c));                   \
    }
#define ORT_4(place, name, A, B, C, D)                                                       \
    static inline ort_status *_Nullable ort_##name(const ort_api *api, A a, B b, C c, D d) { \
        ORT_CALL(place, ort_status *_Nullable, (A, B, C, D), (a, b, c, d));                  \
    }
#define ORT_5(place, name, A, B, C, D, E)                                                         \
    static inline ort_status *_Nullable ort_##name(const ort_api *api, A a, B b, C c, D d, E e) { \
        ORT_CALL(place, ort_status *_Nullable, (A, B, C, D, E), (a, b, c, d, e));                 \
    }
#define ORT_RELEASE(place, name, A)                                             \
    static inline void ort_release_##name(const ort_api *api, A *_Nullable a) { \
        ORT_CALL(place, void, (A *_Nullable), (a));                             \
    }

// Output pointers.
#define ORT_OUT(type) type *_Nullable *_Nonnull

// Status.
static inline int32_t ort_code(const ort_api *api, const ort_status *status) {
    ORT_CALL(1, int32_t, (const ort_status *), (status));
}
static inline const char *ort_message(const ort_api *api, const ort_status *status) {
    ORT_CALL(2, const char *, (const ort_status *), (status));
}
ORT_RELEASE(93, status, ort_status)

// Environment: one per process.
ORT_3(3, create_env, int32_t, const char *, ORT_OUT(ort_env))
ORT_3(144, create_and_register_allocator, ort_env *, const ort_memory_info *, const ort_arena_cfg *)
ORT_4(164, create_arena_cfg, const char *const _Nullable *_Nonnull, const size_t *, size_t, ORT_OUT(ort_arena_cfg))
ORT_RELEASE(157, arena_cfg, ort_arena_cfg)

// Session options.
ORT_1(10, create_session_options, ORT_OUT(ort_session_options))
ORT_2(14, enable_profiling, ort_session_options *, const char *)
ORT_1(17, disable_mem_pattern, ort_session_options *)
ORT_2(23, set_optimization_level, ort_session_options *, int32_t)
ORT_2(24, set_intra_op_threads, ort_session_options *, int32_t)
ORT_3(130, add_session_config, ort_session_options *, const char *, const char *)
ORT_RELEASE(100, session_options, ort_session_options)

// Execution providers.
ORT_2(125, get_available_providers, char *_Nullable *_Nullable *_Nonnull, int32_t *)
ORT_2(126, release_available_providers, char *_Nullable *_Nonnull, int32_t)
ORT_2(204, append_cuda, ort_session_options *, const ort_cuda_options *)
ORT_1(205, create_cuda_options, ORT_OUT(ort_cuda_options))
ORT_4(206, update_cuda_options, ort_cuda_options *, const char *const _Nullable *_Nonnull, const char *const _Nullable *_Nonnull, size_t)
ORT_RELEASE(208, cuda_options, ort_cuda_options)

// Session.
ORT_4(7, create_session, const ort_env *, const char *, const ort_session_options *, ORT_OUT(ort_session))
ORT_5(8, create_session_from_bytes, const ort_env *, const void *, size_t, const ort_session_options *, ORT_OUT(ort_session))
ORT_2(30, input_count, const ort_session *, size_t *)
ORT_2(31, output_count, const ort_session *, size_t *)
ORT_3(33, input_type, const ort_session *, size_t, ORT_OUT(ort_type_info))
ORT_3(34, output_type, const ort_session *, size_t, ORT_OUT(ort_type_info))
ORT_4(36, input_name, const ort_session *, size_t, ort_allocator *, ORT_OUT(char))
ORT_4(37, output_name, const ort_session *, size_t, ort_allocator *, ORT_OUT(char))
ORT_3(110, end_profiling, ort_session *, ort_allocator *, ORT_OUT(char))
ORT_RELEASE(95, session, ort_session)

// Runs. The terminate flag may be set by any thread, and stays set.
ORT_1(39, create_run_options, ORT_OUT(ort_run_options))
ORT_1(46, set_terminate, ort_run_options *)
ORT_1(47, unset_terminate, ort_run_options *)
ORT_3(165, add_run_config, ort_run_options *, const char *, const char *)
ORT_RELEASE(97, run_options, ort_run_options)
static inline ort_status *_Nullable ort_run(
    const ort_api *api, ort_session *session, const ort_run_options *options,
    const char *const _Nullable *_Nonnull inputNames, const ort_value *const _Nullable *_Nonnull inputs, size_t inputCount,
    const char *const _Nullable *_Nonnull outputNames, size_t outputCount, ort_value *_Nullable *_Nonnull outputs) {
    ORT_CALL(
        9, ort_status *_Nullable,
        (ort_session *, const ort_run_options *, const char *const _Nullable *_Nonnull,
         const ort_value *const _Nullable *_Nonnull, size_t, const char *const _Nullable *_Nonnull, size_t,
         ort_value *_Nullable *_Nonnull),
        (session, options, inputNames, inputs, inputCount, outputNames, outputCount, outputs));
}

// Values.
ORT_5(48, create_tensor, ort_allocator *, const int64_t *, size_t, int32_t, ORT_OUT(ort_value))
static inline ort_status *_Nullable ort_create_tensor_of(
    const ort_api *api, const ort_memory_info *memory, void *data, size_t size, const int64_t *shape, size_t rank,
    int32_t type, ort_value *_Nullable *_Nonnull value) {
    ORT_CALL(
        49, ort_status *_Nullable,
        (const ort_memory_info *, void *, size_t, const int64_t *, size_t, int32_t, ort_value *_Nullable *_Nonnull),
        (memory, data, size, shape, rank, type, value));
}
ORT_2(51, tensor_data, ort_value *, void *_Nullable *_Nonnull)
ORT_2(53, string_bytes, const ort_value *, size_t *)
ORT_5(54, get_strings, const ort_value *, void *, size_t, size_t *, size_t)
ORT_4(252, string_buffer, ort_value *, size_t, size_t, ORT_OUT(char))
ORT_2(65, tensor_info_of, const ort_value *, ORT_OUT(ort_tensor_info))
ORT_2(67, value_kind, const ort_value *, int32_t *)
ORT_4(80, get_value, const ort_value *, int32_t, ort_allocator *, ORT_OUT(ort_value))
ORT_2(81, value_count, const ort_value *, size_t *)
ORT_RELEASE(96, value, ort_value)

// Types.
ORT_2(55, as_tensor, const ort_type_info *, const ort_tensor_info *_Nullable *_Nonnull)
ORT_2(56, type_kind, const ort_type_info *, int32_t *)
ORT_2(60, element_type, const ort_tensor_info *, int32_t *)
ORT_2(61, rank, const ort_tensor_info *, size_t *)
ORT_3(62, extents, const ort_tensor_info *, int64_t *, size_t)
ORT_2(104, as_sequence, const ort_type_info *, const ort_sequence_info *_Nullable *_Nonnull)
ORT_2(107, sequence_element, const ort_sequence_info *, ORT_OUT(ort_type_info))
ORT_2(103, as_map, const ort_type_info *, const ort_map_info *_Nullable *_Nonnull)
ORT_2(105, map_key_type, const ort_map_info *, int32_t *)
ORT_2(106, map_value_type, const ort_map_info *, ORT_OUT(ort_type_info))
ORT_RELEASE(98, type_info, ort_type_info)
ORT_RELEASE(99, tensor_info, ort_tensor_info)

// Memory.
ORT_3(69, create_cpu_memory_info, int32_t, int32_t, ORT_OUT(ort_memory_info))
ORT_2(76, allocator_free, ort_allocator *, void *)
ORT_1(78, default_allocator, ORT_OUT(ort_allocator))
ORT_RELEASE(94, memory_info, ort_memory_info)

#undef ORT_OUT
#undef ORT_RELEASE
#undef ORT_5
#undef ORT_4
#undef ORT_3
#undef ORT_2
#undef ORT_1
#undef ORT_0

#pragma clang assume_nonnull end
#endif

// The part of LiteRT's C API that Ocelli uses, declared from its documented ABI. The library is opened at run time.
//
// Functions return a status: 0 for success. Objects are destroyed by their owner, a compiled model before its model.
#ifndef CLITERT_H
#define CLITERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#pragma clang assume_nonnull begin

// Opaque types of the library.
typedef struct LiteRtEnvironment litert_environment;
typedef struct LiteRtModel litert_model;
typedef struct LiteRtOptions litert_options;
typedef struct LiteRtOpaqueOptions litert_opaque_options;
typedef struct LiteRtCompiledModel litert_compiled_model;
typedef struct LiteRtSignature litert_signature;
typedef struct LiteRtTensor litert_tensor;
typedef struct LiteRtTensorBuffer litert_tensor_buffer;

/// An option of an environment: a tag, and a value of one of several types, of which integers are used here.
typedef struct {
    int32_t tag;
    int32_t padding_1;
    int32_t type;
    int32_t padding_2;
    int64_t value;
} litert_environment_option;

enum { litert_maximum_rank = 8 };

/// The shape of a tensor. The rank is in the lower seven bits of `rank`.
typedef struct {
    uint32_t rank;
    int32_t extents[litert_maximum_rank];
    uint32_t strides[litert_maximum_rank];
} litert_layout;

/// The type of a tensor's elements, and its shape.
typedef struct {
    int32_t element;
    litert_layout layout;
} litert_tensor_type;

/// The functions of an opened library. They belong to the library, and are valid as long as the process runs. Names are those of the
/// API, in C style.
typedef struct {
    int (*create_environment)(int count, const litert_environment_option *options, litert_environment *_Nullable *_Nonnull);
    int (*create_model)(litert_environment *, const void *bytes, size_t size, litert_model *_Nullable *_Nonnull);
    void (*destroy_model)(litert_model *);
    int (*create_options)(litert_options *_Nullable *_Nonnull);
    void (*destroy_options)(litert_options *);
    int (*set_accelerators)(litert_options *, int accelerators);
    int (*create_opaque_options)(
        const char *id, void *text, void (*_Nullable release)(void *_Nullable), litert_opaque_options *_Nullable *_Nonnull);
    int (*add_opaque_options)(litert_options *, litert_opaque_options *);
    int (*create_compiled_model)(
        litert_environment *, litert_model *, litert_options *, litert_compiled_model *_Nullable *_Nonnull);
    void (*destroy_compiled_model)(litert_compiled_model *);
    int (*get_error_messages)(litert_compiled_model *, char *_Nullable *_Nonnull);
    int (*get_signature)(litert_model *, size_t index, litert_signature *_Nullable *_Nonnull);
    int (*get_input_count)(litert_signature *, size_t *);
    int (*get_output_count)(litert_signature *, size_t *);
    int (*get_input_tensor)(litert_signature *, size_t index, litert_tensor *_Nullable *_Nonnull);
    int (*get_output_tensor)(litert_signature *, size_t index, litert_tensor *_Nullable *_Nonnull);
    int (*get_tensor_type)(litert_tensor *, litert_tensor_type *);
    int (*get_input_layout)(litert_compiled_model *, size_t signature, size_t input, litert_layout *);
    int (*get_output_layouts)(
        litert_compiled_model *, size_t signature, size_t count, litert_layout *, bool update_allocation);
    int (*resize_input)(
        litert_compiled_model *, size_t signature, size_t input, const int32_t *extents, size_t rank);
    int (*create_tensor_buffer)(
        const litert_tensor_type *, void *memory, size_t size, void (*_Nullable release)(void *_Nullable),
        litert_tensor_buffer *_Nullable *_Nonnull);
    void (*destroy_tensor_buffer)(litert_tensor_buffer *);
    int (*run)(
        litert_compiled_model *, size_t signature, size_t input_count, litert_tensor_buffer *_Nonnull *_Nonnull inputs,
        size_t output_count, litert_tensor_buffer *_Nonnull *_Nonnull outputs);
    int (*set_cancellation)(litert_compiled_model *, void *_Nullable context, bool (*_Nullable is_cancelled)(void *_Nullable));
} litert_api;

/// Opens a library. It is never closed.
/// - Parameters:
///   - api: receives its functions.
///   - reason: receives the reason why it cannot be used, in at most `size` bytes.
/// - Returns: whether it can be used.
bool litert_open(const char *path, litert_api *api, char *reason, size_t size);

#pragma clang assume_nonnull end

#endif

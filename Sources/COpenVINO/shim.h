// OpenVINO's own C API. Its variadic functions all have `_props` counterparts, so no wrapper is needed here.
#pragma once
#include <openvino/c/openvino.h>

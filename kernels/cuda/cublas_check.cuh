// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// PLEAT_CUBLAS_CHECK(call): throws DeviceError unless the call succeeded.
#pragma once

#include <cublasLt.h>

#include "kernels/cuda/device_error.hpp"

#define PLEAT_CUBLAS_CHECK(call)                                                              \
  do {                                                                                        \
    const cublasStatus_t pleat_status = (call);                                               \
    if (pleat_status != CUBLAS_STATUS_SUCCESS)                                                \
      throw ::pleat::DeviceError(#call, cublasLtGetStatusString(pleat_status), __FILE__,      \
                                 __LINE__);                                                   \
  } while (false)

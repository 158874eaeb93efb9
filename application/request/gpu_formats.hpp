// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Which number formats a GPU's tensor cores multiply, and what its libraries have.
#pragma once

#include <string>
#include <vector>

#include "application/request/request.hpp"

namespace pleat {

// bf16 and what runs faster: FP8 since Hopper; with block scales in hardware (MXFP8) and FP4 since
// Blackwell.
[[nodiscard]] std::vector<Precision> supported_precisions(const ClusterSpec&);

// Whether the GPU has what the runtime's kernels need, or mismatches are accepted.
[[nodiscard]] bool computes_format(const Target&, Precision);

// ConfigError (bad_request) at `where` for a format that Megatron's kernels need and the target's
// GPU does not have, unless mismatches are accepted. Pleat's own kernels widen what a device lacks.
// `otherwise` ends the hint.
void require_format(const Target&, Precision, const std::string& where,
                    const std::string& otherwise = "; --accept-mismatch prices it all the same");

// ConfigError (bad_request) for a dispatcher, or for the formats and the dispatcher of a plan, that
// the libraries of the target's GPU do not have, with the reason that its file gives. Of Megatron's
// runtime, unless mismatches are accepted.
void require_dispatcher(const Target&, Dispatcher, const std::string& where);
void require_software(const Target&, const Plan&, const std::string& where);

}  // namespace pleat

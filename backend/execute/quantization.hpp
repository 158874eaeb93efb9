// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Narrow operands of products: copies of activations and gradients where the program says, of
// weights once a step or, where they are gathered for a layer, in the layer.
#pragma once

#include "backend/comm/communicator.hpp"
#include "backend/execute/call.hpp"

namespace pleat::execute {

struct Execution;

// The copies that an operation makes of its tensor: its first results.
[[nodiscard]] std::vector<QuantizedCopy> quantized_copies(const Call&, const Execution&);
void quantize(const Call&, Execution&);
void rms_norm_quantize(const Call&, Execution&);
void swiglu_quantize(const Call&, Execution&);
void transpose_codes(const Call&, Execution&);
void quantize_weight(const Call&, Execution&);
void quantize_weights(const Call&, Execution&);

// The quantised rows of every rank, each with its own scales.
void gather_quantized(const Call&, Execution&, Communicator&);

}  // namespace pleat::execute

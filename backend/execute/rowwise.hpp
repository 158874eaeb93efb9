// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Norms, activations and other operations that are one kernel over rows or elements.
#pragma once

#include "backend/execute/call.hpp"

namespace pleat::execute {

struct Execution;

void rms_norm(const Call&, Execution&);
void rms_norm_bwd(const Call&, Execution&);
void layer_norm(const Call&, Execution&);
void layer_norm_bwd(const Call&, Execution&);
void head_norm(const Call&, Execution&);
void head_norm_bwd(const Call&, Execution&);
void slice_norm(const Call&, Execution&);
void slice_norm_bwd(const Call&, Execution&);

void add(const Call&, Execution&);
void swiglu(const Call&, Execution&);  // with a probability for each row, or without
void swiglu_bwd(const Call&, Execution&);
void gelu(const Call&, Execution&);
void gelu_bwd(const Call&, Execution&);
void sigmoid_gate(const Call&, Execution&);
void sigmoid_gate_bwd(const Call&, Execution&);
void pointwise(const Call&, Execution&);
void pointwise_bwd(const Call&, Execution&);

void concat_columns(const Call&, Execution&);
void concat_columns_bwd(const Call&, Execution&);
void concat_rows(const Call&, Execution&);
void concat_rows_bwd(const Call&, Execution&);

void zero(const Call&, Execution&);
void copy(const Call&, Execution&);

}  // namespace pleat::execute

// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The rows of the experts on one rank: how many there are, and in which order they lie. No row
// leaves the rank here (expert_exchange.hpp).
#pragma once

#include "backend/execute/call.hpp"

namespace pleat::execute {

struct Execution;

void drop_tokens(const Call&, Execution&);
void expert_counts(const Call&, Execution&);
void local_counts(const Call&, Execution&);

void permute(const Call&, Execution&);
void permute_bwd(const Call&, Execution&);
void unpermute(const Call&, Execution&);
void unpermute_bwd(const Call&, Execution&);
void sort_chunks(const Call&, Execution&);
void unsort_chunks(const Call&, Execution&);

// The host learns how many rows the next operations have. It waits for the device's counts, unless
// all experts are padded to their capacity, or all rows stay and none come (RoutedRows).
void learn_kept(const Call&, Execution&);    // after drop_tokens
void learn_counts(const Call&, Execution&);  // after expert_counts

// What goes between tokens and experts is either rows or, as a vector, their probabilities: an
// element for each row. Operations on both are the same, and the tensor says which it is.
[[nodiscard]] bool has_probabilities(const Call&, TensorId);

// How sort_chunks and unsort_chunks see the rows of this rank's experts.
[[nodiscard]] ChunkShape chunk_shape(const Op&, const Execution&);

}  // namespace pleat::execute

// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Parameters and multiply-adds of whatever mixes the tokens of one layer: attention of any kind or
// a recurrence (docs/MODEL.md sections 1 and 2).
#pragma once

#include "core/spec/model.hpp"

namespace pleat {

// Of one norm over h: a scale, and for LayerNorm a shift.
[[nodiscard]] std::int64_t norm_width(const ModelSpec&);

[[nodiscard]] std::int64_t mixer_parameters(const ModelSpec&, const LayerTraits&);

// Multiply-adds per token of the mixer's matrices (A_lin).
[[nodiscard]] double mixer_linear(const ModelSpec&, const LayerTraits&);

// Multiply-adds per token of its core: scores and weighted values, or the recurrence (s * A_core).
[[nodiscard]] double mixer_core(const ModelSpec&, const LayerTraits&, std::int64_t seq_len,
                                FlopsConvention);

// Of one of the two hyper-connections of a layer: the mixing weights from the streams (n n + 2 n
// outputs of n h inputs), their offsets and three scales. 0 with one stream.
[[nodiscard]] std::int64_t hyper_connection_parameters(const ModelSpec&);
// Of the one that joins the streams before the head.
[[nodiscard]] std::int64_t hyper_head_parameters(const ModelSpec&);

// Multiply-adds per token of a recurrence's core, forward.
[[nodiscard]] double recurrence_core(const RecurrenceSpec&, Mixer);

// Mean keys that a query of a sparse or compressed layer attends to beside its window.
[[nodiscard]] double mean_selected_keys(const AttentionSpec&, const LayerTraits&,
                                        std::int64_t seq_len);

}  // namespace pleat

// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The model of a published run: a shipped one or a Hugging Face object, cut to the depth that ran.
#pragma once

#include "validation/measured_run.hpp"
#include "core/spec/model.hpp"

namespace pleat {

// Throws ConfigError for a model that does not ship or cannot be read.
[[nodiscard]] ModelSpec model_of_run(const MeasuredRun&);

// The first `layers` decoder layers; further ones repeat the last.
void cut_depth(ModelSpec&, std::int64_t layers);

}  // namespace pleat

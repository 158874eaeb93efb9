// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// The number formats of a plan that Pleat's own executor does not compute a model in. A search for
// it leaves them out, training refuses them; the simulator prices all.
#pragma once

#include <string>
#include <vector>

#include "core/plan/plan.hpp"
#include "core/spec/model.hpp"

namespace pleat {

struct FormatRefusal {
  const char* path;  // of the plan's field
  std::string message;
  const char* hint;
};
[[nodiscard]] std::vector<FormatRefusal> refused_formats(const ModelSpec&, const Plan&);

}  // namespace pleat

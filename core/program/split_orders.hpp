// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Orders that split backward passes into input and weight gradients (docs/MODEL.md section 4).
#pragma once

#include "core/program/pipeline_order.hpp"

namespace pleat {

// Slots of one stage for zb_h1, zb_v, dualpipe and dualpipe_v. DualPipe needs an even number of
// stages and of microbatches, at least 2 pp of them; DualPipeV at least 2 pp.
[[nodiscard]] std::vector<Slot> split_order(const Schedule&, Stage);

}  // namespace pleat

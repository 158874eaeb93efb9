// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// What compute and communication cost each other when they run side by side (docs/MODEL.md
// section 5), as the profile says.
#pragma once

#include "simulator/streams.hpp"

namespace pleat {

// Sets sm_share and slowdown of a communication op.
void set_contention(StreamOp&, const Op&, const ClusterView&, const Profile&);

// Of an exchange in pieces beside its GEMM or attention: the part that nothing hides.
[[nodiscard]] double exposed_share(const Op&, const ClusterView&, const Profile&);

}  // namespace pleat

// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A rank's transport with NCCL for what lies on its device: one GPU a rank.
#pragma once

#include <memory>

#include "backend/comm/nccl_communicator.hpp"

namespace pleat {

// Takes over `below`, over which the ranks meet, exchange what lies in host memory, and learn that
// one has given up: waits for the device end then, and NCCL's communicators are aborted.
[[nodiscard]] std::unique_ptr<Transport> nccl_transport(std::unique_ptr<Transport> below,
                                                        std::shared_ptr<const NcclFunctions>,
                                                        const NcclSettings& = {});

}  // namespace pleat

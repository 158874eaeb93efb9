// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// `pleat checkpoint`: are checkpoints whole, and mending those that can be mended.
#pragma once

#include <string>
#include <vector>

namespace pleat {

struct CheckpointsOptions {
  std::vector<std::string> paths;  // checkpoints, or folders of them
  bool write = false;              // repair: not only say what would be done
  bool json = false;
};

// Both print a line for each checkpoint. ConfigError (verification) when one is broken, or cannot
// be mended; bad_request for a path that holds no checkpoint.
void verify_checkpoints(const CheckpointsOptions&);
void repair_checkpoints(const CheckpointsOptions&);

}  // namespace pleat

// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "application/training/earlier_run.hpp"

#include <filesystem>
#include <string>

#include "backend/checkpoint/checkpoint_folder.hpp"
#include "core/diagnostics.hpp"
#include "core/json/text_file.hpp"
#include "core/plan/plan_document.hpp"

namespace pleat {

std::optional<EarlierRun> earlier_run(const CheckpointOptions& o) {
  std::string folder = o.resume ? o.save : o.load;
  if (folder.empty()) return std::nullopt;
  try {
    std::error_code none;
    if (!std::filesystem::is_regular_file(folder + "/manifest.json", none)) {
      std::string remark;
      const auto names = checkpoints_in(folder, remark);
      if (names.empty()) return std::nullopt;
      folder += "/" + names.front();
    }
    const std::string plan = folder + "/" + kPlanFile;
    return EarlierRun{folder, open_checkpoint(folder).state,
                      read_plan_document(read_text_file(plan), plan).model};
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

}  // namespace pleat

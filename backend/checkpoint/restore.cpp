// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/checkpoint/restore.hpp"

#include <fmt/format.h>

#include "backend/checkpoint/checkpoint_folder.hpp"
#include "backend/checkpoint/saver.hpp"
#include "backend/checkpoint/shard_reader.hpp"
#include "core/diagnostics.hpp"
#include "core/json/parse.hpp"
#include "core/plan/plan_document.hpp"

namespace pleat {
namespace {

std::string first_line(const std::exception& e) {
  const std::string text = e.what();
  const std::string line = text.substr(0, text.find('\n'));
  const std::string prefix = "error: ";
  return line.starts_with(prefix) ? line.substr(prefix.size()) : line;
}

bool is_checkpoint(const std::string& folder, FileSystem& files) {
  FileStatus status;
  return files.look(folder + "/manifest.json", status) == 0;
}

// What is wrong with a checkpoint, found by all ranks together; empty: every file is whole.
std::string damage_of(const std::string& folder, Communicator& world, Manifest& manifest,
                      FileSystem& files) {
  std::string problem;
  try {
    manifest = open_checkpoint(folder, files);
    const auto ranks = static_cast<std::size_t>(world.size());
    for (std::size_t i = static_cast<std::size_t>(world.rank()); i < manifest.files.size();
         i += ranks) {
      verify_file(folder, manifest.files[i], files);
    }
  } catch (const std::exception& e) {
    problem = first_line(e);
  }
  return first_problem(world, problem);
}

// How much further losses weigh may change from run to run.
ModelSpec without_losses(ModelSpec model) {
  model.mtp_loss = 0;
  if (!model.moe) return model;
  model.moe->aux_loss = model.moe->seq_aux_loss = model.moe->z_loss = model.moe->bias_update = 0;
  return model;
}

// The state belongs to this run: the same model, data and batches.
void require_same_run(const std::string& folder, const Manifest& m, const RestoreConfig& config) {
  Diagnostics problems;
  const auto require = [&](bool holds, const char* what, const std::string& saved,
                           const std::string& now) {
    if (holds) return;
    problems.error(ExitCode::verification, folder, what,
                   fmt::format("{} in the checkpoint, {} here", saved, now));
  };
  const TrainingState &saved = m.state, &now = config.state;
  const auto number = [](std::int64_t n) { return fmt::format("{}", n); };
  require(saved.seq_len == now.seq_len, "seq_len", number(saved.seq_len), number(now.seq_len));
  require(saved.global_batch == now.global_batch, "global_batch", number(saved.global_batch),
          number(now.global_batch));
  require(config.other_data || saved.data == now.data, "data", "other data",
          "the same --data, --split, --seed and --order-samples go on, or --load with others");
  const std::string path = folder + "/plan.json";
  PlanDocument document = read_plan_document(read_text(path, kMaxFileBytes, *config.files), path);
  document.model.name = config.model.name;
  require(without_losses(document.model) == without_losses(config.model), "model", "another model",
          config.model.name);
  problems.throw_if_errors();
}

// Into the tensor's memory, or into the host's first where that is hidden.
void read(ShardReader& reader, KeptTensor tensor, const std::string& from, Device& device) {
  std::vector<std::vector<std::byte>> rooms;
  std::vector<std::byte*> targets;
  for (KeptRun& run : tensor.runs) {
    targets.push_back(run.data);
    if (!device.hidden(run.data)) continue;
    rooms.emplace_back(static_cast<std::size_t>(run.elements * bits_of(tensor.type) / 8));
    run.data = rooms.back().data();
  }
  reader.read(tensor, from);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    const KeptRun& run = tensor.runs[i];
    if (run.data == targets[i]) continue;
    device.copy(targets[i], run.data, run.elements * bits_of(tensor.type) / 8);
  }
}

// The saved tensor that this one goes on from. With another precision weights and main parameters
// stand for each other: the main parameters are what fp32 weights go on from.
std::string source_of(const KeptTensor& tensor, const ShardReader& reader) {
  const std::string weight = "weight/", main = "main/";
  if (tensor.name.starts_with(main) && !reader.has(tensor.name)) {
    return weight + tensor.name.substr(main.size());
  }
  if (tensor.name.starts_with(weight)) {
    const std::string precise = main + tensor.name.substr(weight.size());
    const bool wanted = tensor.type == ElementType::f32 || !reader.has(tensor.name);
    if (wanted && reader.has(precise)) return precise;
  }
  return tensor.name;
}

// What a run can go on without: the amax of delayed scaling, of runs that had other scales.
bool may_lack(const KeptTensor& tensor, const ShardReader& reader) {
  return tensor.name.starts_with("amax") && !reader.has(tensor.name);
}

void load(const std::string& folder, const Manifest& manifest, Executor& executor,
          FileSystem& files) {
  ShardReader reader(folder, manifest, files);
  for (const KeptTensor& tensor : kept_state(executor, Kept::all)) {
    if (may_lack(tensor, reader)) continue;
    read(reader, tensor, source_of(tensor, reader), executor.device());
  }
  executor.restored(manifest.state.updates);
}

}  // namespace

void require_complete(const std::string& folder, const Manifest& manifest, Executor& executor,
                      FileSystem& files) {
  ShardReader reader(folder, manifest, files);
  for (const KeptTensor& tensor : kept_state(executor, Kept::all)) {
    if (may_lack(tensor, reader)) continue;
    reader.require(tensor, source_of(tensor, reader));
  }
}

int restore(const StepBoundary& b, const RestoreConfig& config) {
  const auto say = [&](const std::string& text) {
    if (b.context.rank().value == 0 && config.on_message) config.on_message(text);
  };
  std::vector<std::string> folders;
  if (is_checkpoint(config.folder, *config.files)) {
    folders.push_back(config.folder);
  } else {
    std::string remark;
    for (const std::string& name : checkpoints_in(config.folder, remark, *config.files)) {
      folders.push_back(config.folder + "/" + name);
    }
    if (!remark.empty()) say(remark);
  }
  // One rank's view of the folder: others may see it late.
  std::string list;
  for (const std::string& folder : folders) list += folder + '\n';
  list = text_of_first(b.world, list);
  std::vector<std::string> damaged;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = list.find('\n', at);
    const std::string folder = list.substr(at, end - at);
    at = end + 1;
    Manifest manifest;
    const std::string damage = damage_of(folder, b.world, manifest, *config.files);
    if (!damage.empty()) {
      say(fmt::format("damaged checkpoint: {}", damage));
      damaged.push_back(damage);
      continue;
    }
    require_same_run(folder, manifest, config);
    load(folder, manifest, b.executor, *config.files);
    const std::string plan = summary(b.executor.program().plan);
    std::string how = fmt::format("going on after step {}, from {}", manifest.state.step, folder);
    if (manifest.plan != plan || manifest.world != b.world.size()) {
      how += fmt::format(" (saved by {} on {} ranks)", manifest.plan, manifest.world);
    }
    say(how);
    return static_cast<int>(manifest.state.step);
  }
  if (!damaged.empty()) {
    throw_config_error(ExitCode::verification, config.folder, "",
                       fmt::format("every checkpoint is damaged; {}", damaged.front()));
  }
  if (!config.optional) {
    throw_config_error(ExitCode::device_or_io, config.folder, "", "has no checkpoint");
  }
  return 0;
}

struct SavedWeights::Impl {
  std::string folder;
  Manifest manifest;
  mutable ShardReader reader;
  explicit Impl(const std::string& from)
      : folder(from), manifest(open_checkpoint(from)), reader(folder, manifest) {}
};

SavedWeights::SavedWeights(const std::string& checkpoint)
    : impl_(std::make_unique<Impl>(checkpoint)) {
  for (const SavedFile& file : impl_->manifest.files) verify_file(checkpoint, file);
}
SavedWeights::~SavedWeights() = default;

void SavedWeights::read(const std::string& name, std::span<float> out) const {
  const std::string main = "main/" + name;
  const auto size = static_cast<std::int64_t>(out.size());
  const KeptTensor wanted{
      name, ElementType::f32, size, {{0, size, reinterpret_cast<std::byte*>(out.data())}}};
  impl_->reader.read(wanted, impl_->reader.has(main) ? main : "weight/" + name);
}

}  // namespace pleat

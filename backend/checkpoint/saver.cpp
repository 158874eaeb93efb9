// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
#include "backend/checkpoint/saver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>

#include "backend/checkpoint/checkpoint_folder.hpp"
#include "backend/checkpoint/digest.hpp"
#include "backend/checkpoint/failpoint.hpp"
#include "backend/checkpoint/file_system.hpp"
#include "backend/checkpoint/kept_state.hpp"
#include "backend/checkpoint/restore.hpp"
#include "backend/checkpoint/safetensors.hpp"
#include "core/diagnostics.hpp"
#include "core/json/parse.hpp"
#include "core/plan/plan_document.hpp"

namespace pleat {

std::vector<std::string> gather_texts(Communicator& comm, const std::string& mine) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const std::uint64_t size = mine.size();
  std::vector<std::uint64_t> sizes(ranks);
  comm.all_gather(std::as_bytes(std::span(&size, 1)), std::as_writable_bytes(std::span(sizes)));
  const std::uint64_t most = *std::max_element(sizes.begin(), sizes.end());
  std::vector<std::string> texts(ranks);
  if (most == 0) return texts;
  std::vector<std::byte> padded(most), all(most * ranks);
  if (size > 0) std::memcpy(padded.data(), mine.data(), size);
  comm.all_gather(padded, all);
  for (std::size_t r = 0; r < ranks; ++r) {
    texts[r].assign(reinterpret_cast<const char*>(all.data() + r * most), sizes[r]);
  }
  return texts;
}

std::string text_of_first(Communicator& comm, const std::string& mine) {
  return gather_texts(comm, comm.rank() == 0 ? mine : "").front();
}

std::string first_problem(Communicator& comm, const std::string& mine) {
  for (std::string& text : gather_texts(comm, mine)) {
    if (!text.empty()) return std::move(text);
  }
  return "";
}

namespace {

// A rank's shard as the bytes of its file, and what it holds.
std::vector<std::byte> snapshot(Executor& executor, int rank, ShardRecord& record) {
  const std::vector<KeptTensor> kept = kept_state(executor, Kept::saved_here);
  std::vector<TensorEntry> entries;
  for (const KeptTensor& tensor : kept) {
    TensorPart part{rank, {}};
    std::int64_t elements = 0;
    for (const KeptRun& run : tensor.runs) {
      add_run(part.runs, run.whole, run.elements);
      elements += run.elements;
    }
    entries.push_back({tensor.name, tensor.type, {elements}, 0, 0});
    record.tensors[tensor.name] = {tensor.type, tensor.elements, {std::move(part)}};
  }
  const std::string header = make_safetensors_header(entries, {{"rank", std::to_string(rank)}});
  std::vector<std::byte> bytes(header.size() + (entries.empty() ? 0 : entries.back().end));
  std::memcpy(bytes.data(), header.data(), header.size());
  std::byte* to = bytes.data() + header.size();
  for (const KeptTensor& tensor : kept) {
    const auto size = static_cast<std::size_t>(bits_of(tensor.type) / 8);
    for (const KeptRun& run : tensor.runs) {
      const std::size_t length = static_cast<std::size_t>(run.elements) * size;
      executor.device().copy(to, run.data, static_cast<std::int64_t>(length));
      to += length;
    }
  }
  return bytes;
}

}  // namespace

Saver::~Saver() {
  if (writing_.valid()) writing_.wait();
}

void Saver::after_step(const StepBoundary& b, bool last) {
  if (!written_to_.empty()) finish(b, false);
  const bool due = config_.every > 0 && b.next_step % config_.every == 0;
  if ((due || last) && saved_step_ != b.next_step) {
    if (!written_to_.empty()) finish(b, true);  // one at a time
    begin(b);
    if (!config_.background && !written_to_.empty()) finish(b, true);
  }
  if (!last) return;
  if (!written_to_.empty()) finish(b, true);
  if (failures_ > 0) {
    throw_config_error(ExitCode::device_or_io, config_.folder, "",
                       "the last checkpoint could not be saved", "the one before it is whole");
  }
}

void Saver::begin(const StepBoundary& b) {
  const int rank = b.context.rank().value;
  state_ = config_.state;
  state_.step = b.next_step;
  state_.updates = b.executor.updates();
  state_.samples = state_.step * state_.global_batch;
  std::string folder, error;
  if (rank == 0) {
    try {
      folder = begin_checkpoint(config_.folder, state_.step, *config_.files);
      DurableFile plan(folder + "/" + kPlanFile, *config_.files);
      plan.append(std::as_bytes(std::span(config_.plan_document)));
      plan.commit();
    } catch (const std::exception& e) {
      error = one_line(e);
      if (!folder.empty()) abandon_checkpoint(folder, *config_.files);
    }
  }
  error = first_problem(b.world, error);
  if (!error.empty()) return count(error, b);
  written_to_ = text_of_first(b.world, folder);
  Written written;
  std::vector<std::byte> bytes = snapshot(b.executor, rank, written.record);
  writing_ = std::async(std::launch::async, [this, rank, written = std::move(written),
                                             bytes = std::move(bytes)]() mutable {
    try {
      write(written, bytes, rank);
    } catch (const ConfigError& e) {
      const bool differs = e.exit_code() == ExitCode::verification;
      (differs ? written.unreadable : written.error) = one_line(e);
    } catch (const std::exception& e) {
      written.error = one_line(e);
    }
    return std::move(written);
  });
}

void Saver::write(Written& written, const std::vector<std::byte>& bytes, int rank) {
  const int step = static_cast<int>(state_.step);
  SavedFile& file = written.record.file;
  file = {shard_name(rank), bytes.size(), digest_of(bytes)};
  failpoint("ckpt.before_shard", rank, step);
  DurableFile shard(written_to_ + "/" + file.name, *config_.files);
  const std::size_t half = bytes.size() / 2;
  shard.append(std::span(bytes).first(half));
  failpoint("ckpt.half_shard", rank, step);
  shard.append(std::span(bytes).subspan(half));
  failpoint("ckpt.before_sync", rank, step);
  shard.commit();
  failpoint("ckpt.after_shard", rank, step);
  verify_file(written_to_, file, *config_.files);
}

// Ends the save under way once every rank has written, which all ranks learn here.
void Saver::finish(const StepBoundary& b, bool wait) {
  using namespace std::chrono_literals;
  const bool ready = wait || writing_.wait_for(0s) == std::future_status::ready;
  const std::string running = "running";
  if (!wait && !first_problem(b.world, ready ? "" : running).empty()) return;
  const Written written = writing_.get();
  const bool first = b.context.rank().value == 0;
  // What a step of the save throws here ends it on all ranks.
  std::string error = first_problem(b.world, written.error);
  const auto attempt = [&](auto step_of_save) {
    if (!error.empty()) return;
    std::string mine;
    try {
      step_of_save();
    } catch (const std::exception& e) {
      mine = one_line(e);
    }
    error = first_problem(b.world, mine);
  };
  std::string unreadable = first_problem(b.world, written.unreadable);
  bool committing = false;  // then the folder is no longer ours to remove
  if (error.empty() && unreadable.empty()) {
    const std::vector<std::string> records = gather_texts(b.world, write_record(written.record));
    attempt([&] { if (first) complete(b, records); });
    if (error.empty()) unreadable = first_problem(b.world, read_back(b));
    attempt([&] {
      if (!first || !unreadable.empty()) return;
      committing = true;
      commit_checkpoint(config_.folder, written_to_, state_.step, config_.keep, *config_.files);
    });
  }
  const bool failed = !(error.empty() && unreadable.empty());
  if (first && failed && !committing) abandon_checkpoint(written_to_, *config_.files);
  written_to_.clear();
  if (!unreadable.empty()) {
    throw_config_error(ExitCode::verification, config_.folder, "",
                       fmt::format("the checkpoint of step {} cannot be read back, so training "
                                   "stops: {}",
                                   state_.step, unreadable),
                       "the checkpoints before it are as they were");
  }
  count(error, b);
}

void Saver::complete(const StepBoundary& b, const std::vector<std::string>& records) {
  Manifest manifest;
  manifest.state = state_;
  manifest.world = b.world.size();
  manifest.plan = summary(b.executor.program().plan);
  const std::span<const std::byte> plan = std::as_bytes(std::span(config_.plan_document));
  manifest.files.push_back({kPlanFile, plan.size(), digest_of(plan)});
  for (const std::string& record : records) add_record(manifest, record);
  complete_checkpoint(written_to_, manifest, *config_.files);
}

// Why this rank could not go on from what was written; empty: it could. The bytes of its own shard
// have been compared when they were written.
std::string Saver::read_back(const StepBoundary& b) {
  try {
    const Manifest manifest = open_checkpoint(written_to_, *config_.files);
    if (b.context.rank().value == 0) {
      verify_file(written_to_, manifest.files.front(), *config_.files);
      const std::string plan = written_to_ + "/" + kPlanFile;
      (void)read_plan_document(read_text(plan, kMaxFileBytes, *config_.files), kPlanFile);
    }
    require_complete(written_to_, manifest, b.executor, *config_.files);
  } catch (const std::exception& e) {
    return one_line(e);
  }
  return "";
}

// The outcome of a save, the same on every rank; no error: it succeeded.
void Saver::count(const std::string& error, const StepBoundary& b) {
  if (error.empty()) {
    failures_ = 0;
    saved_step_ = state_.step;
    return;
  }
  ++failures_;
  if (b.context.rank().value == 0 && config_.on_message) {
    config_.on_message(
        fmt::format("the checkpoint of step {} was not saved: {}", state_.step, error));
  }
  if (failures_ < config_.max_failures) return;
  throw_config_error(
      ExitCode::device_or_io, config_.folder, "",
      fmt::format("{} checkpoints in a row could not be saved: {}", failures_, error),
      "the one before them is whole");
}

}  // namespace pleat

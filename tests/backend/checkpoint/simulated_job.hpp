// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// A small job whose checkpoints go to whatever file system a test gives it.
#pragma once

#include <fmt/format.h>

#include <functional>
#include <span>
#include <string>

#include "backend/checkpoint/kept_state.hpp"
#include "core/diagnostics.hpp"
#include "tests/backend/checkpoint/saved_runs.hpp"
#include "tests/backend/checkpoint/simulated_files.hpp"

namespace pleat::test {

inline const std::string kRoot = "/job/saves";

// Saves and restores between two steps of a run that never takes one. Its ranks, if it has several,
// share the state of the optimizer; all of them call save and restored together.
class Job {
 public:
  Job(const StepBoundary& b, int ranks) : b_(b) {
    PlanDocument document;
    document.model_name = model().name;
    document.model = model();
    document.workload = small_workload();
    document.cluster = "localhost";
    document.gpus = ranks;
    document.runtime = Runtime::pleat;
    document.plan = fp32_plan(ranks);
    plan_ = write_plan_document(document);
  }
  static ModelSpec model() {
    ModelSpec m = small_moe();
    m.layers = 1;
    m.moe.reset();
    m.moe_layer.assign(1, false);
    return m;
  }
  // Why it was not saved; empty: it was.
  std::string save(int step, int keep, FileSystem& files) {
    fill(step);
    std::string said;
    const SaveConfig config{kRoot, 1, keep, false, 100, plan_, state_,
                            [&](const std::string& text) { said = text; }, &files};
    try {
      Saver(config).after_step({step, Stop::none, b_.context, b_.executor, b_.world}, false);
    } catch (const ConfigError& e) {
      said = e.what();
      code = e.exit_code();
    }
    return said;
  }
  // The step that was found, with all of its bits on every rank; 0: none; -1: the bits are others
  // or it failed.
  int restored(FileSystem& files) {
    fill(99);
    int step = -1;
    try {
      step = restore(b_, {kRoot, true, state_, model(), {}, &files});
      if (step > 0 && !same(step)) step = -1;
    } catch (const std::exception& e) {
      why = e.what();
    }
    return first_problem(b_.world, step < 0 ? "it failed here" : "").empty() ? step : -1;
  }
  [[nodiscard]] bool first() const { return b_.context.rank().value == 0; }
  std::string why;
  ExitCode code = ExitCode::done;  // of the last save that ended the run

 private:
  static float value(int step, std::int64_t at) {
    return static_cast<float>(step * 1000 + at % 997);
  }
  // What an element holds follows from its place in the whole tensor, whichever rank has it.
  template <class F>
  void each(F f) {
    for (const KeptTensor& t : kept_state(b_.executor, Kept::all)) {
      const auto name = static_cast<std::int64_t>(std::hash<std::string>{}(t.name) % 997);
      for (const KeptRun& run : t.runs) {
        f(std::span(reinterpret_cast<float*>(run.data), static_cast<std::size_t>(run.elements)),
          name + run.whole);
      }
    }
  }
  void fill(int step) {
    each([&](std::span<float> values, std::int64_t at) {
      for (float& v : values) v = value(step, at++);
    });
  }
  bool same(int step) {
    bool same = true;
    each([&](std::span<float> values, std::int64_t at) {
      for (const float v : values) same &= v == value(step, at++);
    });
    return same;
  }
  const StepBoundary& b_;
  std::string plan_;
  const TrainingState state_{0, 0, 0, 16, 8, 1, "data"};
};

// The body runs on every rank, in threads.
inline void in_a_job(int ranks, const std::function<void(Job&, int rank)>& body) {
  TrainConfig config = small_config(1);
  config.stall_seconds = 600;  // all that follows is before the first step
  config.before_first_step = [&](const StepBoundary& b) {
    Job job(b, ranks);
    body(job, b.context.rank().value);
    return 1;
  };
  (void)train(compile(Job::model(), small_workload(), fp32_plan(ranks), Runtime::pleat), config);
}

// The disk at one moment, the step that was saved by then and the one that was being saved.
struct PowerCut {
  SimulatedFiles::Nodes nodes;
  int done, begun;
  std::string at;
};

struct Explored {
  std::size_t cuts = 0, states = 0, broken = 0;
  std::string first;  // of the broken ones
};

// Of calls that change the disk.
inline bool changes(const std::string& kind) {
  return kind != "look" && kind != "read" && kind != "open" && kind != "list";
}

// One disk that the cut may have left: the step that was saved is found, or the one that was being
// saved, and the next job saves and clears up. Ranks call it together on one disk.
inline void try_after(const PowerCut& cut, SimulatedFiles& left, int keep, Job& job,
                      Explored& explored) {
  ++explored.states;
  const int found = job.restored(left);
  bool good = (found == cut.done || found == cut.begun) && !left.unfinished_was_opened();
  std::string what = fmt::format("found {} ({})", found, job.why);
  if (good) {
    if (job.first()) prepare_root(kRoot, left);
    const std::string error = job.save(9, keep, left);
    good = job.restored(left) == 9 && error.empty();
    std::vector<std::string> names;
    (void)left.list(kRoot, names);
    for (const std::string& name : names) good &= name.find('.') == std::string::npos;
    what = "the next save: " + error;
  }
  if (good || explored.broken++ > 0) return;
  explored.first = fmt::format("cut before {}: {} was saved, {}", cut.at, cut.done, what);
}

}  // namespace pleat::test

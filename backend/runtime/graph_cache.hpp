// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Operations of one scope wait until it ends. Then they run one by one; or, when the same ones have
// run on the same memory before, are captured into a graph of the device; or that graph runs in
// their place. Memory repeats from step to step where shapes do.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/program/step_walk.hpp"
#include "kernels/device.hpp"

namespace pleat {

class GraphCache {
 public:
  struct Waiting {
    OpSite site;
    std::vector<View> in, out;
  };

  // A scope is a pass of one layer, or `whole_step`: all until something else has to run.
  GraphCache(Device& device, bool whole_step) : device_(device), whole_step_(whole_step) {}

  // Whether the operation continues the scope that waits.
  [[nodiscard]] bool belongs(const OpSite&) const;
  void add(const OpSite&, std::span<const View> in, std::span<const View> out);
  // run(Waiting) gives the device one operation's kernels and nothing else.
  template <class Run>
  void flush(Run run) {
    if (waiting_.empty()) return;
    const std::vector<Waiting> scope = std::exchange(waiting_, {});
    std::shared_ptr<void>* const graph = graph_of(scope);
    if (graph == nullptr) {
      for (const Waiting& w : scope) run(w);
      return;
    }
    if (*graph == nullptr) {
      Capture capture(device_);
      for (const Waiting& w : scope) run(w);
      *graph = capture.end();
    }
    device_.launch(*graph);
  }

 private:
  // Ends in any case: what fails in between must not leave the device keeping work.
  class Capture {
   public:
    explicit Capture(Device& device) : device_(&device) { device.begin_capture(); }
    ~Capture();
    Capture(const Capture&) = delete;
    Capture& operator=(const Capture&) = delete;
    [[nodiscard]] std::shared_ptr<void> end() {
      return std::exchange(device_, nullptr)->end_capture();
    }

   private:
    Device* device_;
  };
  // None where these operations have not run on this memory before. Null: they have, once.
  [[nodiscard]] std::shared_ptr<void>* graph_of(const std::vector<Waiting>&);
  void forget();

  Device& device_;
  bool whole_step_;
  std::vector<Waiting> waiting_;
  std::uint64_t age_ = 0;  // of the device when they were captured
  std::size_t words_ = 0;  // of all keys
  std::map<std::vector<std::uintptr_t>, std::shared_ptr<void>> graphs_;
};

}  // namespace pleat

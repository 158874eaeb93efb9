// SPDX-FileCopyrightText: 2026 The Pleat authors
// SPDX-License-Identifier: Apache-2.0
// Operations of one scope are collected until it ends. The first time they run one by one. When the
// same operations come again on the same memory, they are captured into a graph of the device, and
// from then on that graph runs in their place. Memory repeats from step to step where shapes do.
// Operations that cannot be captured go on running one by one.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
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
    View staged = {};  // pinned memory that it copies from
  };

  // A scope is a pass of one layer, or `whole_step`: all until something else has to run. `report`
  // gets a line about the first scope that could not be captured; may be empty.
  GraphCache(Device& device, bool whole_step, std::function<void(const std::string&)> report = {})
      : device_(device), whole_step_(whole_step), report_(std::move(report)) {}

  // Whether the operation continues the scope that waits.
  [[nodiscard]] bool belongs(const OpSite&) const;
  void add(const OpSite&, std::span<const View> in, std::span<const View> out, View staged = {});
  // run(Waiting) gives the device one operation's kernels and copies, and waits for nothing.
  template <class Run>
  void flush(Run run) {
    if (waiting_.empty()) return;
    const std::vector<Waiting> scope = std::exchange(waiting_, {});
    Graph* const known = graph_of(scope);
    const auto run_all = [&] {
      for (const Waiting& w : scope) run(w);
    };
    if (known == nullptr || known->failed) return run_all();
    if (known->graph == nullptr) {
      std::string reason;
      try {
        Capture capture(device_);
        run_all();
        known->graph = capture.end();
      } catch (const std::exception& e) {
        reason = e.what();
      }
      if (known->graph == nullptr) {
        run_all();  // what fails without a graph, too, ends here
        return give_up(*known, scope, reason);
      }
    }
    device_.launch(known->graph);
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
  struct Graph {
    std::shared_ptr<void> graph;  // null: these operations have run on this memory once
    bool failed = false;
  };
  // None where these operations have not run on this memory before.
  [[nodiscard]] Graph* graph_of(const std::vector<Waiting>&);
  void give_up(Graph&, const std::vector<Waiting>&, const std::string& reason);
  void forget();

  Device& device_;
  bool whole_step_, reported_ = false;
  std::function<void(const std::string&)> report_;
  std::vector<Waiting> waiting_;
  std::uint64_t age_ = 0;  // of the device when they were captured
  std::size_t words_ = 0;  // of all keys
  std::map<std::vector<std::uintptr_t>, Graph> graphs_;
};

}  // namespace pleat
